-- Log records that say something of a run: arguments, results and decisions that no span carries, whole runs of agents
-- without spans. Other log records are not kept.

CREATE TABLE IF NOT EXISTS run_logs
(
    Tenant String CODEC(ZSTD(1)),
    TraceId String COMMENT 'the trace it is about; made of session and turn where the sender has no traces' CODEC(ZSTD(1)),
    SpanId String CODEC(ZSTD(1)),
    Id String COMMENT 'hash of the record: the same one sent twice is kept once' CODEC(ZSTD(1)),
    Timestamp DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    ReceivedAt DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    ServiceName LowCardinality(String) CODEC(ZSTD(1)),
    EventName LowCardinality(String) CODEC(ZSTD(1)),
    Raw String COMMENT 'an OTLP logs request with this record alone, as base64' CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
PARTITION BY toDate(ReceivedAt)
ORDER BY (Tenant, TraceId, Id)
SETTINGS ttl_only_drop_parts = 1;
