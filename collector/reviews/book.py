"""The durable file of review: candidates, and everything that readers did, to which is only ever added (SQLite)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import orjson

from trailhound.collector.reviews.sampling import RunKey, Sampled
from trailhound.sqlite_file import SqliteFile

POOL = 5_000
"""Candidates of one week and kind that are kept, those with the lowest hash."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS sampled (tenant TEXT, trajectory_id TEXT, week INTEGER, success INTEGER, place INTEGER,
    doc BLOB, PRIMARY KEY (tenant, trajectory_id)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS sampled_by_week ON sampled (week, success, place);
CREATE TABLE IF NOT EXISTS deeds (seq INTEGER PRIMARY KEY AUTOINCREMENT, tenant TEXT, trajectory_id TEXT,
    at_ns INTEGER, reader TEXT, what TEXT, said BLOB, about BLOB);
CREATE INDEX IF NOT EXISTS deeds_of_run ON deeds (trajectory_id);
CREATE TRIGGER IF NOT EXISTS deeds_stay BEFORE UPDATE ON deeds BEGIN SELECT RAISE(ABORT, 'deeds are only added'); END;
CREATE TRIGGER IF NOT EXISTS deeds_stand BEFORE DELETE ON deeds BEGIN SELECT RAISE(ABORT, 'deeds are only added'); END;
"""


@dataclass(frozen=True, slots=True)
class Deed:
    """What a reader did, and when; `said` is the judgement, `about` the run as it was then."""

    about: Sampled
    at_ns: int
    reader: str
    what: Literal["took", "judged"]
    said: Mapping[str, Any]


class Book(SqliteFile):
    """Candidates and verdicts. Callable from any thread; every method raises Retryable when the disk refuses."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, _SCHEMA)

    def put(self, candidates: Mapping[RunKey, Sampled | None], weeks: int) -> None:
        """Take candidates, and forget those that are None; keep the last `weeks`, and of each week what fits."""
        with self._transaction() as db:
            gone = [key for key, candidate in candidates.items() if candidate is None]
            db.executemany("DELETE FROM sampled WHERE tenant = ? AND trajectory_id = ?", gone)
            rows = [_row(candidate) for candidate in candidates.values() if candidate is not None]
            db.executemany("INSERT OR REPLACE INTO sampled VALUES (?,?,?,?,?,?)", rows)
            db.execute(
                "DELETE FROM sampled WHERE week NOT IN (SELECT DISTINCT week FROM sampled ORDER BY week DESC LIMIT ?)",
                (weeks,),
            )
            for week, success in {(row[2], row[3]) for row in rows}:
                db.execute(
                    "DELETE FROM sampled WHERE week = ? AND success = ? AND place > (SELECT place FROM sampled "
                    "WHERE week = ? AND success = ? ORDER BY place LIMIT 1 OFFSET ?)",
                    (week, success, week, success, POOL - 1),
                )

    def candidates(self) -> list[Sampled]:
        with self._transaction() as db:
            return [_sampled(doc) for (doc,) in db.execute("SELECT doc FROM sampled")]

    def candidate(self, trajectory_id: str) -> Sampled | None:
        with self._transaction() as db:
            row = db.execute("SELECT doc FROM sampled WHERE trajectory_id = ?", (trajectory_id,)).fetchone()
        return None if row is None else _sampled(row[0])

    def add(self, deed: Deed) -> None:
        """On disk when this returns; nothing takes it back."""
        about = deed.about
        row = (about.tenant, about.trajectory_id, deed.at_ns, deed.reader, deed.what)
        with self._transaction() as db:
            db.execute(
                "INSERT INTO deeds (tenant, trajectory_id, at_ns, reader, what, said, about) VALUES (?,?,?,?,?,?,?)",
                (*row, orjson.dumps(dict(deed.said)), orjson.dumps(asdict(about))),
            )

    def deeds(self, trajectory_id: str | None = None) -> Iterable[Deed]:
        """In the order they were done; of one run or of all."""
        where, values = (" WHERE trajectory_id = ?", (trajectory_id,)) if trajectory_id is not None else ("", ())
        with self._transaction() as db:
            rows = db.execute(f"SELECT about, at_ns, reader, what, said FROM deeds{where} ORDER BY seq", values)
            return [Deed(_sampled(about), at, who, what, orjson.loads(said)) for about, at, who, what, said in rows]


def _row(candidate: Sampled) -> tuple[str, str, int, int, int, bytes]:
    success = int(candidate.outcome == "success")
    doc = orjson.dumps(asdict(candidate))
    return (candidate.tenant, candidate.trajectory_id, candidate.week, success, candidate.place, doc)


def _sampled(doc: bytes) -> Sampled:
    raw = orjson.loads(doc)
    return Sampled(**raw | {"rules": tuple(raw["rules"]), "models": tuple(raw["models"])})
