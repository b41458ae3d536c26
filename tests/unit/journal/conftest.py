"""A journal in a temporary directory, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from trailhound import config
from trailhound.clock import SystemClock
from trailhound.collector.journal import BEGIN, JournalReader, JournalWriter
from trailhound.metrics import Metrics

OpenWriter = Callable[..., JournalWriter]
ReadAll = Callable[[], list[bytes]]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "journal"


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def open_writer(directory: Path, metrics: Metrics) -> Iterator[OpenWriter]:
    """Opens writers on `directory` with the given settings; those left open are closed after the test."""
    with ExitStack() as stack:

        def open_writer(*, clock: Any = None, system: Any = None, **settings: Any) -> JournalWriter:
            options = {} if system is None else {"system": system}
            merged = config.Journal(**{"min_free": 1, "segment_age": 60, **settings})
            return stack.enter_context(
                JournalWriter(directory, merged, clock or SystemClock(), metrics=metrics, **options)
            )

        yield open_writer


@pytest.fixture
def read_all(directory: Path) -> ReadAll:
    """The bodies of all records in the journal, in order, as a reader that starts now sees them."""
    return lambda: [r.body for b in JournalReader(directory).read(BEGIN, 2**40) for r in b.records]
