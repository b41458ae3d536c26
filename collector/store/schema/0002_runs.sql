-- Headers of runs with their totals: all that a list shows. Rewritten as a run goes on; the highest Version counts.
-- Granules and blocks are small because a page of a list is rows from all over the table, read by key.
CREATE TABLE IF NOT EXISTS trajectories
(
    Tenant String CODEC(ZSTD(1)),
    TrajectoryId String CODEC(ZSTD(1)),
    Version UInt64 COMMENT 'receive time, in nanoseconds, of the newest record that the row rests on' CODEC(ZSTD(1)),
    UpdatedAt DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    TraceIds Array(String) CODEC(ZSTD(1)),
    Service String CODEC(ZSTD(1)),
    ServiceVersion Nullable(String) CODEC(ZSTD(1)),
    Environment Nullable(String) CODEC(ZSTD(1)),
    Status LowCardinality(String) CODEC(ZSTD(1)),
    StatusReason LowCardinality(String) CODEC(ZSTD(1)),
    Agent Nullable(String) CODEC(ZSTD(1)),
    Agents Array(String) CODEC(ZSTD(1)),
    SessionId Nullable(String) CODEC(ZSTD(1)),
    UserId Nullable(String) CODEC(ZSTD(1)),
    Task Nullable(String) CODEC(ZSTD(1)),
    StartedAt DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    EndedAt DateTime64(9) COMMENT 'last end seen; 1970 when nothing has ended' CODEC(Delta(8), ZSTD(1)),
    Dialects Array(LowCardinality(String)) CODEC(ZSTD(1)),
    Input String COMMENT 'JSON' CODEC(ZSTD(1)),
    Output String COMMENT 'JSON' CODEC(ZSTD(1)),
    Steps UInt64 CODEC(ZSTD(1)),
    Turns UInt64 CODEC(ZSTD(1)),
    LlmCalls UInt64 CODEC(ZSTD(1)),
    ToolCalls UInt64 CODEC(ZSTD(1)),
    ToolErrors UInt64 CODEC(ZSTD(1)),
    InputTokens UInt64 CODEC(ZSTD(1)),
    OutputTokens UInt64 CODEC(ZSTD(1)),
    CacheReadTokens UInt64 CODEC(ZSTD(1)),
    CacheWriteTokens UInt64 CODEC(ZSTD(1)),
    ReasoningTokens UInt64 CODEC(ZSTD(1)),
    CostUsd Nullable(Decimal(38, 18)) CODEC(ZSTD(1)),
    UnpricedCalls UInt64 CODEC(ZSTD(1)),

    INDEX idx_trace_ids TraceIds TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(Version)
PARTITION BY toYYYYMM(UpdatedAt)
ORDER BY (Tenant, TrajectoryId)
SETTINGS ttl_only_drop_parts = 1, index_granularity = 256, min_compress_block_size = 4096;

CREATE TABLE IF NOT EXISTS findings
(
    Tenant String CODEC(ZSTD(1)),
    FindingId String CODEC(ZSTD(1)),
    Version UInt64 COMMENT 'receive time, in nanoseconds, of the newest record that the row rests on' CODEC(ZSTD(1)),
    UpdatedAt DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    Rule LowCardinality(String) CODEC(ZSTD(1)),
    Severity LowCardinality(String) CODEC(ZSTD(1)),
    State LowCardinality(String) CODEC(ZSTD(1)),
    Scope LowCardinality(String) CODEC(ZSTD(1)),
    Service String CODEC(ZSTD(1)),
    Agent Nullable(String) CODEC(ZSTD(1)),
    TrajectoryId Nullable(String) CODEC(ZSTD(1)),
    SessionId Nullable(String) CODEC(ZSTD(1)),
    Summary String CODEC(ZSTD(1)),
    Expected String CODEC(ZSTD(1)),
    Actual String CODEC(ZSTD(1)),
    EvidenceTraceIds Array(String) CODEC(ZSTD(1)),
    EvidenceSpanIds Array(String) CODEC(ZSTD(1)),
    FirstSeen DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    LastSeen DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    Details String COMMENT 'JSON' CODEC(ZSTD(1)),

    INDEX idx_trajectory TrajectoryId TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(Version)
PARTITION BY toYYYYMM(UpdatedAt)
ORDER BY (Tenant, FindingId)
SETTINGS ttl_only_drop_parts = 1, index_granularity = 256, min_compress_block_size = 4096;

-- What could not be processed, as it came.
CREATE TABLE IF NOT EXISTS dead_letter
(
    Tenant String CODEC(ZSTD(1)),
    Id String CODEC(ZSTD(1)),
    ReceivedAt DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    Reason LowCardinality(String) CODEC(ZSTD(1)),
    Detail String CODEC(ZSTD(1)),
    Signal LowCardinality(String) CODEC(ZSTD(1)),
    TraceId String CODEC(ZSTD(1)),
    SpanId String CODEC(ZSTD(1)),
    Raw String COMMENT 'base64' CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
PARTITION BY toDate(ReceivedAt)
ORDER BY (Tenant, Id)
SETTINGS ttl_only_drop_parts = 1;
