"""The durable file of station 8: alerts, findings that were taken, notices not delivered yet, silences (SQLite).

One connection, held exclusively: the data directory belongs to one daemon, and a second connection to a write-ahead
log is what SQLite before 3.51.3 can corrupt. Every commit is synced before a method returns.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from trailhound.alerts.allowance import Window
from trailhound.alerts.life import Incident, Known
from trailhound.alerts.notice import Notice
from trailhound.alerts.silences import FOREVER_NS, Match, Silence
from trailhound.document import ALERT_FILTERS
from trailhound.model import Alert, Finding
from trailhound.sqlite_file import SqliteFile

log = logging.getLogger(__name__)

_SCHEMA = """
CREATE TABLE IF NOT EXISTS alerts (alert_id TEXT PRIMARY KEY, rule TEXT, tenant TEXT, service TEXT, agent TEXT,
    severity TEXT, state TEXT, starts_ns INTEGER, over INTEGER, doc BLOB) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS alerts_by_start ON alerts (starts_ns, alert_id);
CREATE INDEX IF NOT EXISTS alerts_standing ON alerts (over);
CREATE TABLE IF NOT EXISTS known (finding_id TEXT PRIMARY KEY, alert_id TEXT, severity TEXT, state TEXT,
    at_ns INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS nameless (finding_id TEXT PRIMARY KEY, due_ns INTEGER, at_ns INTEGER, doc BLOB);
CREATE TABLE IF NOT EXISTS outbox (seq INTEGER PRIMARY KEY AUTOINCREMENT, channel TEXT, notice_id TEXT, doc BLOB,
    UNIQUE (channel, notice_id));
CREATE TABLE IF NOT EXISTS windows (channel TEXT PRIMARY KEY, begun_ns INTEGER, sent INTEGER, held BLOB);
CREATE TABLE IF NOT EXISTS silences (silence_id TEXT PRIMARY KEY, until_ns INTEGER, doc BLOB);
"""
KEPT_KNOWN = 200_000
"""Findings that are remembered as taken: a replay goes back over the open runs only."""
KEPT_ALERTS = 100_000


@dataclass
class Changes:
    """What one look at the alerts changed: written in one transaction, or not at all."""

    incidents: dict[str, Incident] = field(default_factory=dict)
    known: dict[str, Known] = field(default_factory=dict)
    nameless: dict[str, tuple[int, int, Finding]] = field(default_factory=dict)
    """Finding id -> (due, journal's time, finding)"""
    named: set[str] = field(default_factory=set)
    notices: list[tuple[str, Notice]] = field(default_factory=list)
    """(channel, notice)"""
    windows: dict[str, Window] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.incidents or self.known or self.nameless or self.named or self.notices or self.windows)


class Ledger(SqliteFile):
    """All methods may be called from any thread; they raise Retryable when the disk refuses. Opened when first used."""

    def __init__(self, path: Path, *, failed: Callable[[], None] = lambda: None) -> None:
        super().__init__(path, _SCHEMA, failed=failed)

    # ------------------------------------------------------------ what was decided

    def write(self, changes: Changes) -> None:
        """All of `changes`, durable when this returns."""
        with self._transaction() as db:
            db.executemany(
                "INSERT OR REPLACE INTO alerts VALUES (?,?,?,?,?,?,?,?,?,?)", map(_row, changes.incidents.values())
            )
            db.executemany(
                "INSERT OR REPLACE INTO known VALUES (?,?,?,?,?)",
                ((k.finding_id, k.alert_id, k.severity, k.state, k.at_ns) for k in changes.known.values()),
            )
            db.executemany("DELETE FROM nameless WHERE finding_id = ?", ((key,) for key in changes.named))
            db.executemany(
                "INSERT OR REPLACE INTO nameless VALUES (?,?,?,?)",
                ((key, due, at, orjson.dumps(f)) for key, (due, at, f) in changes.nameless.items()),
            )
            db.executemany(
                "INSERT OR IGNORE INTO outbox (channel, notice_id, doc) VALUES (?,?,?)",
                ((channel, notice.notice_id, notice.dump()) for channel, notice in changes.notices),
            )
            db.executemany(
                "INSERT OR REPLACE INTO windows VALUES (?,?,?,?)",
                ((name, w.begun_ns, w.sent, orjson.dumps(w.held)) for name, w in changes.windows.items()),
            )

    def tidy(self) -> None:
        """Forget the oldest of what is only kept to be looked up."""
        with self._transaction() as db:
            db.execute(
                "DELETE FROM known WHERE at_ns < (SELECT at_ns FROM known ORDER BY at_ns DESC LIMIT 1 OFFSET ?)",
                (KEPT_KNOWN,),
            )
            db.execute(
                "DELETE FROM alerts WHERE over AND starts_ns < "
                "(SELECT starts_ns FROM alerts ORDER BY starts_ns DESC LIMIT 1 OFFSET ?)",
                (KEPT_ALERTS,),
            )

    def known(self, finding_ids: Iterable[str]) -> dict[str, Known]:
        found = {}
        with self._transaction() as db:
            for finding_id in finding_ids:
                row = db.execute("SELECT * FROM known WHERE finding_id = ?", (finding_id,)).fetchone()
                if row is not None:
                    found[finding_id] = Known(*row)
        return found

    # ------------------------------------------------------------ after a restart

    def standing(self) -> list[Incident]:
        """Alerts that are not over."""
        with self._transaction() as db:
            return [_incident(doc) for (doc,) in db.execute("SELECT doc FROM alerts WHERE NOT over")]

    def ended_since(self, time_ns: int, limit: int) -> list[Incident]:
        """Alerts that ended at `time_ns` or later and had been told."""
        with self._transaction() as db:
            rows = db.execute("SELECT doc FROM alerts WHERE over ORDER BY starts_ns DESC LIMIT ?", (limit,))
            ended = [_incident(doc) for (doc,) in rows]
        return [incident for incident in ended if incident.told and incident.alert.ends_ns >= time_ns]

    def nameless(self) -> dict[str, tuple[int, int, Finding]]:
        with self._transaction() as db:
            return {key: (due, at, _finding(doc)) for key, due, at, doc in db.execute("SELECT * FROM nameless")}

    def windows(self) -> dict[str, Window]:
        with self._transaction() as db:
            rows = db.execute("SELECT * FROM windows").fetchall()
        return {name: Window(begun, sent, orjson.loads(held)) for name, begun, sent, held in rows}

    # ------------------------------------------------------------ the outbox

    def next(self, channel: str) -> tuple[int, Notice] | None:
        """The oldest notice that a channel has not taken."""
        with self._transaction() as db:
            row = db.execute(
                "SELECT seq, doc FROM outbox WHERE channel = ? ORDER BY seq LIMIT 1", (channel,)
            ).fetchone()
        return None if row is None else (row[0], Notice.load(row[1]))

    def done(self, seq: int) -> None:
        """The notice was taken, or never will be."""
        with self._transaction() as db:
            db.execute("DELETE FROM outbox WHERE seq = ?", (seq,))

    def pending(self) -> dict[str, int]:
        """Notices that wait, by channel."""
        with self._transaction() as db:
            return dict(db.execute("SELECT channel, count(*) FROM outbox GROUP BY channel").fetchall())

    # ------------------------------------------------------------ lists

    def alerts(
        self, filters: Mapping[str, str], since_ns: int, until_ns: int, after: tuple[int, str] | None, limit: int
    ) -> list[Alert]:
        """Newest first, then by id downwards; `filters` compare whole values, names are of ALERT_FILTERS."""
        conditions, parameters = (
            ["starts_ns >= ?", "starts_ns < ?"],
            [min(since_ns, FOREVER_NS), min(until_ns, FOREVER_NS)],
        )
        values: list[int | str] = [*parameters]
        for name, value in filters.items():
            assert name in ALERT_FILTERS
            conditions.append(f"{name} = ?")
            values.append(value)
        if after is not None:
            conditions.append("(starts_ns, alert_id) < (?, ?)")
            values += after
        sql = f"SELECT doc FROM alerts WHERE {' AND '.join(conditions)} ORDER BY starts_ns DESC, alert_id DESC LIMIT ?"
        with self._transaction() as db:
            return [_incident(doc).alert for (doc,) in db.execute(sql, (*values, limit))]

    # ------------------------------------------------------------ silences

    def silences(self) -> list[Silence]:
        with self._transaction() as db:
            return [_silence(doc) for (doc,) in db.execute("SELECT doc FROM silences")]

    def put_silence(self, silence: Silence) -> None:
        with self._transaction() as db:
            row = (silence.silence_id, silence.until_ns, orjson.dumps(silence))
            db.execute("INSERT OR REPLACE INTO silences VALUES (?,?,?)", row)

    def drop_silence(self, silence_id: str) -> None:
        with self._transaction() as db:
            db.execute("DELETE FROM silences WHERE silence_id = ?", (silence_id,))


def _row(incident: Incident) -> tuple[str | int | bytes | None, ...]:
    alert = incident.alert
    names = (alert.tenant, alert.service, alert.agent)
    doc = orjson.dumps(incident)
    over = int(alert.state == "resolved")
    return (alert.alert_id, alert.rule, *names, alert.severity, alert.state, alert.starts_ns, over, doc)


def _incident(doc: bytes) -> Incident:
    raw = orjson.loads(doc)
    alert = raw.pop("alert")
    raw |= {name: tuple(raw.get(name, ())) for name in ("told", "quotes", "unaware")}
    return Incident(Alert(**alert | {"examples": tuple(alert["examples"])}), **raw)


def _finding(doc: bytes) -> Finding:
    raw = orjson.loads(doc)
    raw["evidence"] = [(trace_id, span_id) for trace_id, span_id in raw["evidence"]]
    return Finding(**raw)


def _silence(doc: bytes) -> Silence:
    raw = orjson.loads(doc)
    match = {name: tuple(globs) for name, globs in raw.pop("match").items()}
    return Silence(match=Match(**match), **raw)
