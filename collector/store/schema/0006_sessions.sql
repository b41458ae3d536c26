-- What is of one session is asked for often, and finding nothing is the most frequent answer.

ALTER TABLE findings ADD INDEX IF NOT EXISTS idx_session SessionId TYPE bloom_filter(0.001) GRANULARITY 1;

ALTER TABLE trajectories ADD INDEX IF NOT EXISTS idx_session SessionId TYPE bloom_filter(0.001) GRANULARITY 1;
