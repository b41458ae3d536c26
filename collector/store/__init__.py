"""Station 7: where spans, runs and findings are kept; `open_store` picks the store that a DSN names."""

from trailhound.collector.store.base import DeadLetter, Inserted, Listing, LogRow, Session, SpanRow, Stats, Store
from trailhound.collector.store.registry import SCHEMES, open_store

__all__ = [
    "SCHEMES",
    "DeadLetter",
    "Inserted",
    "Listing",
    "LogRow",
    "Session",
    "SpanRow",
    "Stats",
    "Store",
    "open_store",
]
