"""Which store a DSN names; a store is imported only when it is asked for, because chDB alone takes over a second."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from urllib.parse import urlsplit

from trailhound.collector.store.base import Store
from trailhound.config import Retention
from trailhound.errors import Invalid, Retryable
from trailhound.metrics import Metrics

SCHEMES = {
    "memory": "trailhound.collector.store.memory:MemoryStore",
    "chdb": "trailhound.collector.store.clickhouse:ClickHouseStore",
    "clickhouse": "trailhound.collector.store.clickhouse:ClickHouseStore",
    "http": "trailhound.collector.store.clickhouse:ClickHouseStore",
    "https": "trailhound.collector.store.clickhouse:ClickHouseStore",
}
"""DSN scheme -> module:class; every class takes (dsn, retention, metrics)."""


def open_store(dsn: str, retention: Retention, metrics: Metrics) -> Store:
    """The opened store of `dsn`. Raises Invalid(reason="config") for an unknown scheme, else what `Store.open` does."""
    scheme = urlsplit(dsn).scheme
    if scheme not in SCHEMES:
        raise Invalid(f"store.dsn: unknown scheme `{scheme}`; known: {', '.join(SCHEMES)}", reason="config")
    module, _, name = SCHEMES[scheme].partition(":")
    make: Callable[[str, Retention, Metrics], Store] = getattr(import_module(module), name)
    store = make(dsn, retention, metrics)
    try:
        store.open()
    except (Retryable, Invalid):
        store.close()  # a half opened embedded engine would hold its directory
        raise
    return store
