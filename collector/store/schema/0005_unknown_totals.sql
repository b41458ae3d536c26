-- Totals that no step told are NULL: unknown, not 0. What older versions wrote as 0 may be either, so it is unknown too.

ALTER TABLE trajectories
    MODIFY COLUMN InputTokens Nullable(UInt64) CODEC(ZSTD(1)),
    MODIFY COLUMN OutputTokens Nullable(UInt64) CODEC(ZSTD(1)),
    MODIFY COLUMN CacheReadTokens Nullable(UInt64) CODEC(ZSTD(1)),
    MODIFY COLUMN CacheWriteTokens Nullable(UInt64) CODEC(ZSTD(1)),
    MODIFY COLUMN ReasoningTokens Nullable(UInt64) CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS UnmeteredCalls UInt64 COMMENT 'answered model calls whose tokens are unknown' CODEC(ZSTD(1)) AFTER UnpricedCalls;

ALTER TABLE trajectories
    UPDATE
        InputTokens = nullIf(InputTokens, 0),
        OutputTokens = nullIf(OutputTokens, 0),
        CacheReadTokens = nullIf(CacheReadTokens, 0),
        CacheWriteTokens = nullIf(CacheWriteTokens, 0),
        ReasoningTokens = nullIf(ReasoningTokens, 0)
    WHERE InputTokens = 0 OR OutputTokens = 0 OR CacheReadTokens = 0 OR CacheWriteTokens = 0 OR ReasoningTokens = 0
    SETTINGS mutations_sync = 1;
