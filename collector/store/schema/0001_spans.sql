-- Spans. The first columns are those of the OpenTelemetry Collector's ClickHouse exporter (contrib,
-- exporter/clickhouseexporter, traces table), so that dashboards made for it work here; the rest is ours.
-- The attributes are three quarters of the bytes: larger blocks and ZSTD(3) save 26 of 190 bytes a span. Small granules
-- keep the reading of one trace cheap.
-- Names that a model or a stranger chooses are String: only closed sets and attribute keys are LowCardinality.
CREATE TABLE IF NOT EXISTS otel_traces
(
    Timestamp DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    TraceId String CODEC(ZSTD(1)),
    SpanId String CODEC(ZSTD(1)),
    ParentSpanId String CODEC(ZSTD(1)),
    TraceState String CODEC(ZSTD(1)),
    SpanName String CODEC(ZSTD(1)),
    SpanKind LowCardinality(String) CODEC(ZSTD(1)),
    ServiceName String CODEC(ZSTD(1)),
    ResourceAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    ScopeName String CODEC(ZSTD(1)),
    ScopeVersion String CODEC(ZSTD(1)),
    SpanAttributes Map(LowCardinality(String), String) CODEC(ZSTD(3))
        SETTINGS (min_compress_block_size = 2097152, max_compress_block_size = 2097152),
    Duration UInt64 CODEC(ZSTD(1)),
    StatusCode LowCardinality(String) CODEC(ZSTD(1)),
    StatusMessage String CODEC(ZSTD(1)),
    Events Nested
    (
        Timestamp DateTime64(9),
        Name String,
        Attributes Map(LowCardinality(String), String)
    ) CODEC(ZSTD(1)),
    Links Nested
    (
        TraceId String,
        SpanId String,
        TraceState String,
        Attributes Map(LowCardinality(String), String)
    ) CODEC(ZSTD(1)),

    Tenant String CODEC(ZSTD(1)),
    ReceivedAt DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    Segment String COMMENT 'token of the insert that wrote the row' CODEC(ZSTD(1)),
    Version UInt64 COMMENT 'of the rows of one span the highest counts: the one that ends last, else the last received' CODEC(ZSTD(1)),
    Flags UInt32 CODEC(ZSTD(1)),
    Dropped UInt32 COMMENT 'attributes, events and links that are missing' CODEC(ZSTD(1)),
    StartClamped UInt64 COMMENT 'start as received where a DateTime64 cannot hold it, else 0' CODEC(ZSTD(1)),
    EndsBefore UInt64 COMMENT 'nanoseconds by which the end lies before the start, else 0' CODEC(ZSTD(1)),
    AttributeTypes String COMMENT 'types of the first attributes, a letter each; the other attributes are strings' CODEC(ZSTD(1)),
    ResourceTypes String COMMENT 'the same for the resource' CODEC(ZSTD(1)),
    StepKind LowCardinality(String) CODEC(ZSTD(1)),
    StepStatus LowCardinality(String) CODEC(ZSTD(1)),
    Agent String CODEC(ZSTD(1)),
    SessionId String CODEC(ZSTD(1)),
    UserId String CODEC(ZSTD(1)),
    Task String CODEC(ZSTD(1)),
    ToolName String CODEC(ZSTD(1)),
    Provider String CODEC(ZSTD(1)),
    RequestModel String CODEC(ZSTD(1)),
    ResponseModel String CODEC(ZSTD(1)),
    ErrorType String CODEC(ZSTD(1)),
    InputTokens Nullable(UInt64) CODEC(ZSTD(1)),
    OutputTokens Nullable(UInt64) CODEC(ZSTD(1)),
    CacheReadTokens Nullable(UInt64) CODEC(ZSTD(1)),
    CacheWriteTokens Nullable(UInt64) CODEC(ZSTD(1)),
    ReasoningTokens Nullable(UInt64) CODEC(ZSTD(1)),
    CostUsd Nullable(Decimal(18, 12)) CODEC(ZSTD(1)),

    INDEX idx_timestamp Timestamp TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree(Version)
PARTITION BY toDate(ReceivedAt)
ORDER BY (Tenant, TraceId, SpanId)
SETTINGS
    non_replicated_deduplication_window = 10000,
    ttl_only_drop_parts = 1,
    index_granularity = 1024,
    -- merging column by column costs 10 instead of 16 us CPU a span, and merging more parts at once makes fewer merges
    vertical_merge_algorithm_min_rows_to_activate = 1,
    vertical_merge_algorithm_min_columns_to_activate = 1,
    merge_selector_base = 10;
