"""The store's thread: inserts sealed segments, then what was judged of them, then moves the cursor, then deletes."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from trailhound import failpoint
from trailhound.clock import Clock
from trailhound.collector.assemble.filed import Filed
from trailhound.collector.backlog import Backlog, Batch
from trailhound.collector.closed import ClosedTraces
from trailhound.collector.journal import Cursor, JournalReader, Position, save_cursor
from trailhound.collector.kept_approvals import KeptApprovals
from trailhound.collector.kept_lessons import KeptLessons
from trailhound.collector.ledger import Ledger
from trailhound.collector.pump import Reached
from trailhound.collector.rebuild import rebuild, stored_of
from trailhound.collector.segment_rows import segment_logs, segment_rows
from trailhound.collector.store import Store
from trailhound.collector.tally import Tally
from trailhound.collector.unsaved import Changed, Unsaved
from trailhound.config import Config
from trailhound.errors import Invalid, Retryable
from trailhound.metrics import Metrics
from trailhound.model import Run

log = logging.getLogger(__name__)

WAKE_S = 0.5
"""How often runs and findings that changed are written when no segment comes: an insert costs some milliseconds however
small it is, and until then memory shows them."""
TIDY_S = 5.0
"""How often the cursor moves and old segments are looked for when nothing changes."""
FIRST_WAIT_S, MAX_WAIT_S = 1.0, 30.0
"""Pauses while the store is away: doubling, with full jitter, for as long as it takes (RELIABILITY 2.3)."""


def cursor_path(config: Config) -> Path:
    return config.data_dir / "cursor.json"


class Judged(Protocol):
    """What the pump tells this thread."""

    def reached(self) -> Reached: ...

    def filed(self, run: Run) -> list[Filed]: ...


class Durable(Protocol):
    """Who else keeps what was judged, in a place of its own (station 8, review)."""

    def durable(self) -> None:
        """What was told so far is kept when this returns; raises Retryable."""
        ...


class Storing:
    """Owns the store. Everything it does may be done again after a crash: tokens and versions make that harmless."""

    def __init__(
        self,
        config: Config,
        open_store: Callable[[], Store],
        judged: Judged,
        cursor: Cursor,
        *,
        backlog: Backlog,
        unsaved: Unsaved,
        closed: ClosedTraces,
        parked: Ledger,
        others: Sequence[Durable],
        kept: KeptApprovals,
        lessons: KeptLessons,
        tally: Tally,
        metrics: Metrics,
        clock: Clock,
    ) -> None:
        self._config, self._open_store, self._judged, self._cursor = config, open_store, judged, cursor
        self._backlog, self._unsaved, self._closed, self._parked = backlog, unsaved, closed, parked
        self._lessons = lessons
        self._kept, self._others, self._tally, self._metrics, self._clock = kept, others, tally, metrics, clock
        self._reader = JournalReader(config.data_dir / "journal")
        self._inserted_at: dict[int, float] = {}
        self._started_s = self._moved_s = clock.monotonic_s()
        self._wait_s = FIRST_WAIT_S
        self._stop = threading.Event()
        self.store: Store | None = None
        """The store once it is open; others may use it to read."""
        self.opened = threading.Event()
        self.trouble: str | None = "opening"
        """Why the store does not take what it is given; None when it does."""

    # ------------------------------------------------------------ the thread

    def run(self) -> None:
        """Until `stop`."""
        while not self._stop.is_set():
            try:
                busy = self.step()
            except (Retryable, Invalid, OSError) as error:
                self._pause(error)
                continue
            self.trouble, self._wait_s = None, FIRST_WAIT_S
            if not busy:
                self._backlog.filled.wait(WAKE_S)
                self._backlog.filled.clear()
        if self.store is not None:
            self.store.close()

    def stop(self) -> None:
        self._stop.set()
        self._backlog.filled.set()

    def _pause(self, error: Exception) -> None:
        """The store is away or refuses: judging goes on, and so does waiting for it, however long."""
        self.trouble = error.reason if isinstance(error, Invalid) else "away"
        log.warning("store: %s: %s", self.trouble, error, extra={"reason": f"store:{self.trouble}"})
        self._move_judged()
        self._stop.wait(random.uniform(0.1, self._wait_s))
        self._wait_s = min(MAX_WAIT_S, 2 * self._wait_s)

    def step(self) -> bool:
        """One segment and what changed meanwhile; False when there was nothing. Raises Retryable, Invalid, OSError."""
        if self.store is None:
            self.store = self._open_store()
            self.opened.set()
        batch = self._backlog.first()
        if batch is not None:
            self._insert(self.store, batch)
        reached = self._judged.reached()
        rebuildable = not reached.changed.lost or not len(self._backlog)  # else not all of their spans are here yet
        if rebuildable and (batch is not None or reached.changed):
            self._put(self.store, reached)
            self._move(reached)
            self._delete()
        elif rebuildable and self._clock.monotonic_s() >= self._moved_s + TIDY_S:  # runs were forgotten meanwhile
            self._move(reached)
            self._delete()
        return batch is not None

    # ------------------------------------------------------------ effects first

    def _insert(self, store: Store, batch: Batch) -> None:
        rows, logs = batch.rows, batch.logs
        if rows is None:
            rows = segment_rows(self._config, self._reader, batch.segment)
            logs = segment_logs(self._config, self._reader, batch.segment)
        begun = self._clock.monotonic_s()
        failpoint.hit("store.before_insert")
        store.put_logs(logs)
        inserted = store.insert_segment(self._token(batch.segment), rows)
        failpoint.hit("store.after_insert")
        self._metrics.observe("trailhound_store_insert_seconds", self._clock.monotonic_s() - begun)
        self._tally.stored(inserted.stored, inserted.dead)
        self._inserted_at[batch.segment] = self._clock.monotonic_s()
        self._unsaved.stored(batch.segment)
        self._backlog.done()

    def _token(self, segment: int) -> str:
        """Unique to the journal: one that was started anew in the same place must not meet the old one's tokens."""
        if not self._reader.journal_id:
            self._reader.read(Position(segment, 0), 1)
        return f"{self._reader.journal_id}:{segment}"

    def _put(self, store: Store, reached: Reached) -> None:
        changed = reached.changed
        for key in [*changed.lost]:
            self._rebuild(store, changed, key)
        if changed.letters:
            store.put_dead_letters(changed.letters)
        if changed.findings:
            store.put_findings(list(changed.findings.values()), reached.received_ns)
        if changed.runs:
            store.put_trajectories(list(changed.runs.values()), reached.received_ns)
        self._unsaved.saved()

    def _rebuild(self, store: Store, changed: Changed, key: tuple[str, str]) -> None:
        """A run that had to be let go of: its spans are in the store by now."""
        tenant, trajectory_id = key
        known = store.get_trajectory(trajectory_id, tenant)
        trace_ids = changed.lost[key] or (known.trace_ids if known is not None else [])
        for trajectory in rebuild(
            self._config, *stored_of(store, tenant, trace_ids), lessons=self._lessons, filed=self._judged.filed
        ):
            if trajectory.run.trajectory_id == trajectory_id:
                changed.runs[key] = trajectory.run
                changed.findings.update(((tenant, f.finding_id), f) for f in trajectory.findings)
        del changed.lost[key]

    # ------------------------------------------------------------ marks after

    def _move(self, reached: Reached) -> None:
        stored = max(self._cursor.stored, *self._inserted_at, 0)
        needed = stored + 1 if reached.low_water is None else min(reached.low_water, stored + 1)
        low_water = max(needed, self._cursor.low_water)
        self._closed.write()
        self._parked.write(self._cursor.low_water)
        for other in self._others:
            other.durable()
        self._kept.write()
        self._lessons.durable()
        self._moved_s = self._clock.monotonic_s()
        self._cursor = _marked(replace(self._cursor, stored=stored, low_water=low_water), reached)
        save_cursor(cursor_path(self._config), self._cursor)

    def _move_judged(self) -> None:
        """Without the store: only what was counted moves on, so that a restart does not count it again."""
        reached = self._judged.reached()
        cursor = _marked(self._cursor, reached)
        try:
            save_cursor(cursor_path(self._config), cursor)
            self._cursor = cursor
        except OSError as error:
            log.warning("the cursor cannot be saved: %s", error)

    def _delete(self) -> None:
        """Segments that are stored, needed by no run in memory, and old enough for the store's disk to have them."""
        now, keep = self._clock.monotonic_s(), self._config.journal.keep
        for segment in self._reader.sealed():
            if segment > self._cursor.stored or segment >= self._cursor.low_water:
                return
            if now - self._inserted_at.get(segment, self._started_s) >= keep:
                self._reader.remove(segment)
                self._inserted_at.pop(segment, None)


def _marked(cursor: Cursor, reached: Reached) -> Cursor:
    """With what was judged and told; during a replay that is what was reached before it."""
    return replace(
        cursor,
        judged=max(cursor.judged, reached.judged),
        advanced_ns=max(cursor.advanced_ns, reached.advanced_ns),
        received_ns=max(cursor.received_ns, reached.received_ns),
    )
