"""Every store there is, empty, by name: the tests of this folder run on each of them."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from trailhound.collector.store import Store, open_store
from trailhound.config import Retention
from trailhound.metrics import Metrics

SERVER = os.environ.get("TRAILHOUND_TEST_CLICKHOUSE")
"""DSN of a ClickHouse server to test on as well; databases named `test_...` are made in it."""
FOREVER = Retention(spans=1e10, trajectories=1e10, findings=1e10)
"""The times in the tests are fixed, and must not grow too old to be kept."""
STORES = ["memory", "chdb", *(["server"] if SERVER else [])]


@pytest.fixture(scope="session")
def chdb_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """chDB opens one directory a process, so that all tests share it and each takes a database of its own."""
    return tmp_path_factory.mktemp("chdb")


@pytest.fixture
def chdb_dsn(chdb_path: Path) -> str:
    return f"chdb://{chdb_path}?database=test_{uuid.uuid4().hex}"


@pytest.fixture(params=STORES)
def dsn(request: pytest.FixtureRequest) -> str:
    if request.param == "memory":
        return "memory://"
    if request.param == "server":
        return f"{SERVER}?database=test_{uuid.uuid4().hex}"
    return str(request.getfixturevalue("chdb_dsn"))


@pytest.fixture
def store(dsn: str) -> Iterator[Store]:
    opened = open_store(dsn, FOREVER, Metrics())
    yield opened
    opened.close()
