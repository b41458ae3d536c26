-- Who computed CostUsd: span (the sender), file (the user's price file) or the built-in list with its version.

ALTER TABLE otel_traces
    ADD COLUMN IF NOT EXISTS PriceSource LowCardinality(String) COMMENT 'span, file or the list and its version; empty without a cost' CODEC(ZSTD(1)) AFTER CostUsd;
