"""Every store there is, empty, by name: the tests of this folder run on each of them."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator

import pytest

from trailhound.collector.store import Store, open_store
from trailhound.collector.store.connection import Connection
from trailhound.config import Retention
from trailhound.metrics import Metrics

SERVER = os.environ.get("TRAILHOUND_TEST_CLICKHOUSE")
"""DSN of a ClickHouse server to test on as well; databases named `test_...` are made in it."""
FOREVER = Retention(spans=1e10, trajectories=1e10, findings=1e10)
"""The times in the tests are fixed, and must not grow too old to be kept."""
STORES = ["memory", "chdb", *(["server"] if SERVER else [])]


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """The embedded engine, kept running: it opens one directory a process, so each test takes a database of its own."""
    connection = Connection(f"chdb://{tmp_path_factory.mktemp('chdb')}")
    connection.open()
    yield connection
    connection.close()


@pytest.fixture
def chdb_dsn(engine: Connection) -> Iterator[str]:
    database = f"test_{uuid.uuid4().hex}"
    yield f"{engine.dsn}?database={database}"
    engine.command(f"DROP DATABASE IF EXISTS {database}")


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
