"""Connections to ClickHouse, embedded or a server: one client for writing, one a thread for reading."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson

from trailhound.collector.store.faults import classified
from trailhound.errors import Invalid, Retryable

INSERT_TIMEOUT_S = 30
"""The driver's own default, 300 s, would hang the queue for five minutes on a store that does not answer."""
READ_TIMEOUT_S = 20
_WRITE_SETTINGS = {"async_insert": 0, "date_time_input_format": "best_effort"}


class Connection:
    """All talk with the database. Every method raises Retryable and Invalid as `faults.classify` says."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self.embedded = urlsplit(dsn).scheme == "chdb"
        self.database = _database(dsn)
        self._writer: Any = None
        self._write_lock = threading.Lock()
        self._local = threading.local()
        self._readers: list[Any] = []
        self._lock = threading.Lock()
        self._generation = 0

    def open(self) -> None:
        """Connect and create the database. Raises Retryable while the server is away or the directory is in use."""
        with classified():
            first = self._connect(None)
            try:
                first.command(f"CREATE DATABASE IF NOT EXISTS `{self.database}`")
                self._writer = self._connect(self.database)
            finally:
                first.close()  # last: the embedded engine stops with its last client, and starts again in 0.1 s

    def close(self) -> None:
        with self._lock:
            readers, self._readers = self._readers, []
            self._generation += 1
        for client in readers:
            client.close()
        with self._write_lock:
            if self._writer is not None:
                self._writer.close()
                self._writer = None

    def command(
        self, sql: str, data: bytes | None = None, settings: Mapping[str, Any] | None = None, **parameters: Any
    ) -> None:
        """One statement without a result, on the writing client."""
        with self._write_lock, classified():
            self._open_writer().command(sql, parameters=parameters or None, data=data, settings=dict(settings or {}))

    def insert(self, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Rows of the same columns into one of our tables."""
        if rows:
            self.insert_lines(table, list(rows[0]), [orjson.dumps(row) for row in rows])

    def insert_lines(self, table: str, columns: Sequence[str], lines: Sequence[bytes]) -> None:
        """Rows as JSON objects of these columns, one or more."""
        body = b"\n".join(lines)
        with self._write_lock, classified():
            self._open_writer().raw_insert(
                table, column_names=columns, insert_block=body, fmt="JSONEachRow", settings=_WRITE_SETTINGS
            )

    def fetch(self, sql: str, **parameters: Any) -> list[list[Any]]:
        """The rows of a query. Bytes that are no UTF-8 come back as U+FFFD."""
        text = f"{sql} SETTINGS max_execution_time = {READ_TIMEOUT_S} FORMAT JSONCompactEachRow"
        with classified():
            raw: bytes = self._reader().raw_query(text, parameters=parameters or None)
        return [orjson.loads(line) for line in raw.decode("utf-8", "replace").split("\n") if line]

    def _open_writer(self) -> Any:
        if self._writer is None:
            raise Retryable("the store is not open")
        return self._writer

    def _reader(self) -> Any:
        """This thread's client: one at a time may use a client, and reads must not wait for an insert."""
        if self._writer is None:
            raise Retryable("the store is not open")
        known = getattr(self._local, "client", None)
        if known is None or known[0] != self._generation:
            client = self._connect(self.database)
            with self._lock:
                self._readers.append(client)
                known = self._local.client = (self._generation, client)
        return known[1]

    def _connect(self, database: str | None) -> Any:
        import clickhouse_connect  # over 0.3 s, with the embedded engine over 1 s: only the process that stores pays it

        if self.embedded:
            return clickhouse_connect.get_client(interface="chdb", path=urlsplit(self.dsn).path, database=database)
        return clickhouse_connect.get_client(
            dsn=self.dsn,
            database=database or "default",
            connect_timeout=5,
            send_receive_timeout=INSERT_TIMEOUT_S,
            show_clickhouse_errors="scrub",  # the whole text names the host
            autogenerate_session_id=False,  # a session would serialise the clients of a server
        )


def _database(dsn: str) -> str:
    parts = urlsplit(dsn)
    if parts.scheme == "chdb" and set(parts.path) & set("*{}'\\"):
        raise Invalid("store.dsn: the path may not have any of * { } ' \\ in it", reason="config")
    named = parse_qs(parts.query).get("database", [""])[0] or ("" if parts.scheme == "chdb" else parts.path.strip("/"))
    name = named or ("default" if parts.scheme == "chdb" else "trailhound")
    if not name.replace("_", "").isalnum() or not name.isascii():
        raise Invalid(f"store.dsn: `{name[:64]}` is no database name: use letters, digits and `_`", reason="config")
    return name
