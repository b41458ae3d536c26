"""The durable file of what was learnt from ended runs, `baselines.db`: written before the cursor moves past the runs."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from trailhound.canonical import stable_id
from trailhound.collector.api.query import ListQuery
from trailhound.collector.assemble.earlier import MAX_PORTRAYED, MAX_RUNS, AgentKey, Place
from trailhound.collector.assemble.lessons import Calls, Subject
from trailhound.collector.assemble.observed import Observation, Pin
from trailhound.errors import Retryable
from trailhound.evaluators.baseline import Typical
from trailhound.evaluators.profile import Profile

log = logging.getLogger(__name__)

MAX_ROWS = 500_000
"""Rows of each kind; of further ones the oldest go. About 200 bytes each."""
MAX_KEYS = 3 * MAX_ROWS
LAST = 2**63 - 1
"""The largest number that SQLite can compare with."""
MANY = 10_000
"""What waits for the disk is written at this number even when no cursor is to be moved (the store is away)."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS baselines (baseline_id TEXT PRIMARY KEY, tenant TEXT, service TEXT, agent TEXT, task TEXT,
    latest_ns INTEGER, pin BLOB);
CREATE INDEX IF NOT EXISTS baselines_by_time ON baselines (latest_ns, baseline_id);
CREATE TABLE IF NOT EXISTS runs (seq INTEGER PRIMARY KEY, baseline_id TEXT, run_id TEXT, ended_ns INTEGER, version TEXT,
    said BLOB, flagged INTEGER, kept INTEGER, segment INTEGER, UNIQUE (baseline_id, run_id));
CREATE TABLE IF NOT EXISTS calls (seq INTEGER PRIMARY KEY, tenant TEXT, session_id TEXT, run_id TEXT, ended_ns INTEGER,
    names BLOB, segment INTEGER, UNIQUE (tenant, session_id, run_id));
CREATE TABLE IF NOT EXISTS changes (seq INTEGER PRIMARY KEY, tenant TEXT, service TEXT, agent TEXT, run_id TEXT,
    ended_ns INTEGER, profile BLOB, segment INTEGER, UNIQUE (tenant, service, agent, run_id));
"""
_RUN = """INSERT INTO runs (baseline_id, run_id, ended_ns, version, said, flagged, kept, segment) VALUES (?,?,?,?,?,?,?,?)
    ON CONFLICT DO UPDATE SET ended_ns = excluded.ended_ns, version = excluded.version, said = excluded.said,
    flagged = excluded.flagged, kept = excluded.kept, segment = min(segment, excluded.segment)"""
_BASELINE = """INSERT INTO baselines VALUES (?,?,?,?,?,?,NULL)
    ON CONFLICT DO UPDATE SET latest_ns = max(latest_ns, excluded.latest_ns)"""
_CALLS = """INSERT INTO calls (tenant, session_id, run_id, ended_ns, names, segment) VALUES (?,?,?,?,?,?)
    ON CONFLICT DO UPDATE SET ended_ns = excluded.ended_ns, names = excluded.names,
    segment = min(segment, excluded.segment)"""
_CHANGE = """INSERT INTO changes (tenant, service, agent, run_id, ended_ns, profile, segment) VALUES (?,?,?,?,?,?,?)
    ON CONFLICT DO UPDATE SET ended_ns = excluded.ended_ns, profile = excluded.profile,
    segment = min(segment, excluded.segment)"""


@dataclass(frozen=True, slots=True)
class Entry:
    """One baseline that is kept."""

    baseline_id: str
    subject: Subject
    latest_ns: int
    """End of its latest run."""
    pin: dict[str, Any] | None


class KeptLessons:
    """Callable from any thread. One connection, held exclusively: as `alerts.db` (docs/decisions/0006-alerts.md).

    Runs of the part of the journal that is read again are forgotten at the start: the replay brings them back.
    """

    def __init__(self, path: Path, replay_from: int) -> None:
        self._path, self._replay_from = path, replay_from
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._waiting: list[tuple[str, Sequence[object]]] = []
        self._unread: set[tuple[str, ...]] = set()
        """Whose rows wait: those are written before they are read."""
        self._known: set[int] = set()
        """Hashes of whose rows may be in the file: for a session that is new, as most are, nothing is looked up."""

    def close(self) -> None:
        with self._lock:
            if self._db is not None:
                self._db.close()
            self._db = None

    def durable(self) -> None:
        """What was learnt so far is on disk when this returns; raises Retryable."""
        with self._lock:
            self._write()

    # ------------------------------------------------------------ what is learnt

    def learn(self, subject: Subject, runs: Iterable[Observation], gone: Iterable[str], segment: int) -> None:
        baseline_id = id_of(subject)
        for run_id in gone:
            self._add(subject, "DELETE FROM runs WHERE baseline_id = ? AND run_id = ?", (baseline_id, run_id))
        for run in runs:
            ended_ns, run_id = run.place
            row = (run_id, ended_ns, run.version, orjson.dumps(run.values), run.flagged, run.kept, segment)
            self._add(subject, _RUN, (baseline_id, *row))
            self._add(subject, _BASELINE, (baseline_id, *subject, ended_ns))

    def called(self, session: tuple[str, str], run_id: str, at: Place, names: frozenset[str], segment: int) -> None:
        self._add(session, _CALLS, (*session, run_id, at[0], orjson.dumps(sorted(names)), segment))

    def portray(self, agent: AgentKey, run_id: str, portrait: tuple[Place, Profile] | None, segment: int) -> None:
        if portrait is None:
            forget = "DELETE FROM changes WHERE tenant = ? AND service = ? AND agent = ? AND run_id = ?"
            self._add(agent, forget, (*agent, run_id))
            return
        profile = orjson.dumps([sorted(part) for part in portrait[1]])
        self._add(agent, _CHANGE, (*agent, run_id, portrait[0][0], profile, segment))

    def _add(self, key: tuple[str, ...], statement: str, row: Sequence[object]) -> None:
        with self._lock:
            self._waiting.append((statement, row))
            self._unread.add(key)
            self._known.add(hash(key))
            if len(self._waiting) % MANY == 0:
                try:
                    self._write()
                except Retryable as error:
                    log.error("what was learnt waits: %s", error)

    # ------------------------------------------------------------ what is known

    def runs(self, subject: Subject) -> tuple[list[Observation], Pin | None]:
        baseline_id = id_of(subject)
        rows = self._read(
            subject,
            "SELECT ended_ns, run_id, version, said, flagged, kept FROM runs WHERE baseline_id = ?",
            (baseline_id,),
        )
        pins = self._read(subject, "SELECT pin FROM baselines WHERE baseline_id = ?", (baseline_id,))
        known = [
            Observation((at, run_id), version, tuple(orjson.loads(said)), bool(flagged), bool(kept))
            for at, run_id, version, said, flagged, kept in rows
        ]
        return known, _pin(orjson.loads(pins[0][0])) if pins and pins[0][0] is not None else None

    def calls(self, tenant: str, session_id: str) -> Calls:
        wanted = (
            "SELECT ended_ns, run_id, names FROM calls WHERE tenant = ? AND session_id = ? ORDER BY seq DESC LIMIT ?"
        )
        rows = self._read((tenant, session_id), wanted, (tenant, session_id, MAX_RUNS))
        return {run_id: ((at, run_id), frozenset(orjson.loads(names))) for at, run_id, names in reversed(rows)}

    def portraits(self, agent: AgentKey) -> list[tuple[Place, Profile]]:
        wanted = (
            "SELECT ended_ns, run_id, profile FROM changes WHERE tenant = ? AND service = ? AND agent = ?"
            " ORDER BY ended_ns DESC, run_id DESC LIMIT ?"
        )
        rows = self._read(agent, wanted, (*agent, MAX_PORTRAYED))
        return [((at, run_id), Profile(*map(frozenset, orjson.loads(said)))) for at, run_id, said in reversed(rows)]

    def _read(self, key: tuple[str, ...], statement: str, values: Sequence[object]) -> list[Any]:
        with self._lock:
            try:
                db = self._opened()
                if hash(key) not in self._known:
                    return []
                if key in self._unread:
                    self._write()
                return db.execute(statement, values).fetchall()
            except (Retryable, sqlite3.Error, OSError) as error:
                log.error("what was learnt from earlier runs cannot be read: %s", error)
                return []

    # ------------------------------------------------------------ for people

    def entries(self, query: ListQuery) -> list[Entry]:
        """Of the baselines that match, those with the latest runs first. Raises Retryable."""
        where, values = "latest_ns >= ? AND latest_ns < ?", [min(query.since_ns, LAST), min(query.until_ns, LAST)]
        wanted: list[object] = [*values]
        for name, value in query.filters.items():
            where += f" AND {name} = ?"
            wanted.append(value)
        if query.after is not None:
            where += " AND (latest_ns, baseline_id) < (?, ?)"
            wanted += [query.after.time_ns, query.after.id]
        order = " ORDER BY latest_ns DESC, baseline_id DESC LIMIT ?"
        with self._lock:
            self._write()
            try:
                rows = self._opened().execute(f"SELECT * FROM baselines WHERE {where}{order}", (*wanted, query.limit))
                return [_entry(row) for row in rows]
            except sqlite3.Error as error:
                raise Retryable(f"{self._path} cannot be used: {error}") from None

    def pin(self, baseline_id: str, pin: dict[str, Any] | None) -> None:
        """Pin or unpin; on disk when this returns. Raises Retryable."""
        blob = None if pin is None else orjson.dumps(pin)
        with self._lock:
            self._waiting.append(("UPDATE baselines SET pin = ? WHERE baseline_id = ?", (blob, baseline_id)))
            try:
                self._write()
            except Retryable:
                self._waiting.pop()
                raise

    # ------------------------------------------------------------ the file

    def _write(self) -> None:
        try:
            db = self._opened()
            if not self._waiting:
                return
            with db:
                for statement, row in self._waiting:
                    db.execute(statement, row)
                _tidy(db)
        except (sqlite3.Error, OSError) as error:
            raise Retryable(f"{self._path} cannot be used: {error}") from None
        self._waiting.clear()
        self._unread.clear()
        if len(self._known) > MAX_KEYS:
            self._known = _keys(db)

    def _opened(self) -> sqlite3.Connection:
        if self._db is None:
            self._db = _open(self._path)
            with self._db:
                for table in ("runs", "calls", "changes"):
                    self._db.execute(f"DELETE FROM {table} WHERE segment >= ?", (self._replay_from,))
            self._known |= _keys(self._db)
        return self._db


def id_of(subject: Subject) -> str:
    """The id of a baseline, the same wherever it is made."""
    return stable_id(*subject)


def typical_document(pin: Pin) -> dict[str, Any]:
    return {"since_ns": pin.since_ns, "typical": [None if t is None else list(t) for t in pin.typical]}


def _pin(document: dict[str, Any]) -> Pin:
    return Pin(document["since_ns"], tuple(None if t is None else Typical(*t) for t in document["typical"]))


def _entry(row: Sequence[Any]) -> Entry:
    baseline_id, tenant, service, agent, task, latest_ns, pin = row
    return Entry(baseline_id, (tenant, service, agent, task), latest_ns, None if pin is None else orjson.loads(pin))


def _keys(db: sqlite3.Connection) -> set[int]:
    """Hashes of everything by which rows are read."""
    found = set[int]()
    for columns, table in (("tenant, service, agent, task", "baselines"), ("tenant, session_id", "calls"), ("tenant, service, agent", "changes")):  # fmt: skip
        found.update(map(hash, db.execute(f"SELECT DISTINCT {columns} FROM {table}")))
    return found


def _tidy(db: sqlite3.Connection) -> None:
    for table in ("runs", "calls", "changes"):
        db.execute(f"DELETE FROM {table} WHERE seq <= (SELECT max(seq) FROM {table}) - ?", (MAX_ROWS,))


def _open(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, check_same_thread=False, timeout=5.0)
    try:
        for pragma in ("locking_mode=EXCLUSIVE", "journal_mode=WAL", "synchronous=FULL"):
            db.execute(f"PRAGMA {pragma}").fetchall()
        db.executescript(_SCHEMA)
    except sqlite3.Error:
        db.close()
        raise
    return db
