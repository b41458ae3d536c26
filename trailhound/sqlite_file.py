"""A small SQLite file that one process owns: every commit is on disk when it returns, and a damaged file stops nothing."""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from trailhound.errors import Retryable

log = logging.getLogger(__name__)


class SqliteFile:
    """All methods may be called from any thread; they raise Retryable when the disk refuses. Opened when first used.

    One connection, held exclusively, full sync (docs/decisions/0006-alerts.md says why).
    """

    def __init__(self, path: Path, schema: str, *, failed: Callable[[], None] = lambda: None) -> None:
        """`schema` is executed at each opening; `failed` is told of every error."""
        self._path, self._schema, self._failed = path, schema, failed
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """What is done inside is done as a whole, and durable when it ends, or not at all."""
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = self._open()
                with self._connection:
                    yield self._connection
            except (sqlite3.Error, OSError) as error:
                self._failed()
                raise Retryable(f"{self._path} cannot be used: {error}") from None

    def _open(self) -> sqlite3.Connection:
        """The file, made if need be; one that is no database any more is set aside, as work must go on."""
        try:
            return self._connect()
        except sqlite3.OperationalError:  # a full or failing disk: it may be well again
            raise
        except sqlite3.DatabaseError as error:
            aside = self._path.with_suffix(".damaged")
            log.error("%s is damaged (%s): it is kept as %s, and a new one begun", self._path, error, aside)
            os.replace(self._path, aside)
            for end in ("-wal", "-shm"):
                Path(f"{self._path}{end}").unlink(missing_ok=True)
            return self._connect()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, check_same_thread=False, timeout=5.0)
        try:
            for pragma in ("locking_mode=EXCLUSIVE", "journal_mode=WAL", "synchronous=FULL"):
                connection.execute(f"PRAGMA {pragma}").fetchall()
            connection.executescript(self._schema)
        except sqlite3.Error:
            connection.close()
            raise
        return connection
