"""Moves the journal through the watch: block by block, timers in step with it, everything that changed told onwards."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from trailhound import failpoint
from trailhound.clock import Clock
from trailhound.collector.amends import Amends
from trailhound.collector.assemble.filed import Filed
from trailhound.collector.assemble.live import LiveRun
from trailhound.collector.attempts import Attempts, Where
from trailhound.collector.backlog import Backlog, Batch
from trailhound.collector.closed import ClosedTraces
from trailhound.collector.exchange import Changes, Fed
from trailhound.collector.journal import Block, Cursor, JournalReader, Position
from trailhound.collector.reviews.sampler import Closing
from trailhound.collector.store import DeadLetter
from trailhound.collector.tally import Tally
from trailhound.collector.turn import Turn
from trailhound.collector.unsaved import Changed, Unsaved
from trailhound.collector.watch import Watch
from trailhound.metrics import Metrics
from trailhound.model import Finding, Record, Run, Step

log = logging.getLogger(__name__)

READ_BYTES = 2**20
"""Journal bytes taken at once: about 1,500 spans, judged in well under 150 ms."""
GUARD_NS = 1_000_000_000
"""Timers stay this far behind the clock: a record that was stamped earlier has become readable by then."""
STUCK_S = 1.0
"""Looks at the journal follow each other by milliseconds; one that is this old hides what has come since."""
TICK_NS = 250_000_000
"""Runs whose time is up are closed so often, many together: what is learnt from them is then gone through once."""
OPEN_EVERY_NS = 5_000_000_000
"""How often the headers of runs that are still open are written to the store."""
CLOSED = frozenset({"completed", "failed", "unfinished"})


class Listener(Protocol):
    """Who counts what is judged (`trailhound.alerts.exposition`)."""

    muted: bool

    def steps(self, steps: Iterable[Step]) -> None: ...
    def run(self, run: Run) -> None: ...
    def closed(self, steps: Iterable[Step]) -> None: ...
    def findings(self, findings: Sequence[Finding]) -> None: ...
    def settle(self, now_ns: int) -> None: ...


@dataclass(frozen=True)
class Reached:
    """Where the pump stands, and everything that the store does not have yet."""

    judged: Position
    advanced_ns: int
    received_ns: int
    low_water: int | None
    """First segment of the runs in memory; None without any."""
    changed: Changed


class Pump:
    """One `step` reads, judges and tells. Everything behind it is rebuilt by running it again from the low-water mark."""

    def __init__(
        self,
        reader: JournalReader,
        watch: Watch,
        turn: Turn,
        cursor: Cursor,
        *,
        backlog: Backlog,
        unsaved: Unsaved,
        closed: ClosedTraces,
        attempts: Attempts,
        listener: Listener,
        reviews: Closing,
        tally: Tally,
        metrics: Metrics,
        clock: Clock,
        amends: Amends | None = None,
    ) -> None:
        self._amends = amends
        self._reader, self._watch, self._turn, self._start = reader, watch, turn, cursor
        self._backlog, self._unsaved, self._closed, self._attempts = backlog, unsaved, closed, attempts
        self._listener, self._reviews = listener, reviews
        self._tally, self._metrics, self._clock = tally, metrics, clock
        self._batch: Batch | None = None
        self._sealed: set[int] = set()
        self._open: dict[tuple[str, str], None] = {}
        self._open_told_ns = 0
        self.position = Position(cursor.low_water, 0)
        self.received_ns = self.advanced_ns = self._read = 0
        self._behind_ns, self._looked_s = 0, clock.monotonic_s()
        self.caught_up = False
        """Whether the end of the journal was reached since the start."""
        listener.muted = cursor.judged > self.position
        watch.replaying = True  # the store may be ahead of the cursor: it is written first
        watch.segment = cursor.low_water

    # ------------------------------------------------------------ the loop's body

    def step(self) -> bool:
        """Take what there is, up to READ_BYTES; False when there was nothing. Raises OSError for a failing disk."""
        blocks = self._reader.read(self.position, READ_BYTES)
        self._behind_ns = max(0, self._clock.now_ns() - blocks[0].received_ns) if blocks else 0
        self._looked_s = self._clock.monotonic_s()
        for block in blocks:
            if block.position_after > self._start.judged:
                self._unmute()
            self._take(block)
            self._tell()  # after each block, as a replay does: what shows only for a while shows and ends there too
        if not blocks:
            self._idle()
            self._tell()
        return bool(blocks)

    @property
    def behind_ns(self) -> int:
        """Age of the oldest record that was not judged at the last look.

        It grows while there is no further look: a rule that hangs or a disk that cannot be read must not seem well.
        """
        since_s = self._clock.monotonic_s() - self._looked_s
        return self._behind_ns + (int(since_s * 1e9) if since_s > STUCK_S else 0)

    def _take(self, block: Block) -> None:
        self._enter(block.segment)
        self._watch.segment = block.segment
        self._advance(block.received_ns)
        self._tell()  # what time alone did, which an undisturbed monitor told before the block came
        for index, record in enumerate(block.records):
            where = Where(block.segment, block.position_after.offset, index)
            if not self._attempts.begin(where):
                self._set_aside(record, "crash", f"the process died twice at {where}")
                continue
            self._feed(record, block.segment)
            self._attempts.end()
        with self._turn:
            self.position, self.received_ns = block.position_after, block.received_ns
            self._read = block.segment

    def _feed(self, record: Record, segment: int) -> None:
        failpoint.hit("monitor.before_feed")
        try:
            with self._turn:
                fed = self._watch.feed(record, segment)
        except Exception as error:
            log.exception("a record of %d bytes cannot be judged", len(record.body), extra={"reason": "poison"})
            self._set_aside(record, "evaluate", f"{type(error).__name__}: {error}")
            return
        self._listener.steps(step for _, step in (*fed.new, *fed.replaced))
        self._keep(fed)
        failpoint.hit("monitor.after_feed")

    def _set_aside(self, record: Record, reason: str, detail: str) -> None:
        """The record goes on without us: kept whole as a dead letter, so that the loop goes on without it."""
        log.error("a record is set aside as a dead letter (%s): %s", reason, detail)
        self._metrics.inc("trailhound_dead_letters_total", reason=reason)
        letter = DeadLetter(record.tenant, record.received_ns, reason, record.body, detail[:1000], record.signal)
        self._unsaved.add_letter(letter)

    def _idle(self) -> None:
        """The journal is read to its end: time comes from the clock, and a segment that is complete goes on."""
        self.caught_up, self._watch.replaying = True, False
        self._unmute()
        self._advance(self._clock.now_ns() - GUARD_NS)
        if self._batch is not None:
            if self._batch.segment in self._sealed:  # sealed before the read that found nothing
                self._leave()
            self._sealed = set(self._reader.sealed())

    def _advance(self, now_ns: int) -> None:
        """Time goes on in ticks: what ends in one of them ends together, in order."""
        with self._turn:
            self.advanced_ns = max(self.advanced_ns, now_ns - now_ns % TICK_NS)
            self._watch.advance(self.advanced_ns)

    def _unmute(self) -> None:
        """What follows was not counted before the restart; timers that had fired then have fired."""
        self.received_ns = max(self.received_ns, self._start.received_ns)
        if self._listener.muted:
            self._advance(self._start.advanced_ns)
            self._tell()
            self._listener.muted = False

    # ------------------------------------------------------------ rows of segments

    def _enter(self, segment: int) -> None:
        if self._batch is not None and self._batch.segment != segment:
            self._leave()
        if self._batch is None and segment > self._start.stored:
            self._batch = Batch(segment)

    def _leave(self) -> None:
        if self._batch is not None:
            self._backlog.put(self._batch)
            self._batch = None

    def _keep(self, fed: Fed) -> None:
        duplicate = len(fed.new) + fed.duplicate  # without a batch: the store has all of them already
        if self._batch is not None:
            self._batch.add([*fed.new, *fed.replaced])
            self._batch.add_logs([row for told in fed.logs if (row := told.row()) is not None])
            duplicate = fed.duplicate - len(fed.replaced)
        count, rejected = len(fed.new) + fed.duplicate + len(fed.rejected), len(fed.rejected)
        self._tally.decoded(count, duplicate=duplicate, rejected=rejected)
        self._tally.understood(fed.new)

    def pending_spans(self) -> int:
        """Spans read and not stored."""
        batch = self._batch
        return self._backlog.spans() + (batch.spans if batch is not None else 0)

    def pending_segments(self) -> int:
        return len(self._backlog) + (self._batch is not None)

    # ------------------------------------------------------------ what changed

    def _tell(self) -> None:
        with self._turn:
            changes = self._watch.changes()
            self._listener.findings(changes.findings)
            self._note(changes)
            if self._amends is not None:
                self._amends.note(changes)
            counts = self._watch.counts
            late, counts.late = 0 if self._listener.muted else counts.late, 0
            unjudged, counts.unjudged = counts.unjudged, 0
            counts.rejected.clear()  # each was told with its record; a list of all would grow for ever
        self._tally.late(late)
        self._tally.unjudged(unjudged)
        self._listener.settle(self.advanced_ns)

    def amend(self) -> None:
        """Take back what only an earlier life of the monitor said, a little at a time, once all is read again."""
        if self._amends is not None and self.caught_up:
            self._amends.settle(self._take_back, self._store_again)

    def _take_back(self, findings: list[Finding]) -> None:
        if findings:
            with self._turn:
                self._listener.findings(findings)
                self._unsaved.add((), findings)

    def _store_again(self, findings: list[Finding]) -> None:
        if findings:
            with self._turn:
                self._unsaved.add((), findings)

    def _note(self, changes: Changes) -> None:
        closed, told = [], self._unsaved.stamp(self._read)
        for live in changes.runs:
            live.told = told
            self._listener.run(live.run)
            key = (live.run.tenant, live.run.trajectory_id)
            if live.run.status in CLOSED:
                closed.append(live.run)
                self._open.pop(key, None)
                self._note_closed(live)
            else:
                self._open[key] = None
        for live in changes.resting:
            live.told = told
            self._closed.add(live.run.tenant, self._watch.scope_names(live.run), live.first_segment, told)
        for early in changes.early:
            early.told = told
            self._closed.add(early.tenant, [early.trace_id], early.first_segment, told)
        others = (*changes.joined, *changes.resting)
        self._unsaved.add([*closed, *(live.run for live in others)], changes.findings)
        if self._open and self.advanced_ns >= self._open_told_ns + OPEN_EVERY_NS:
            live_runs = [self._watch.runs[key].run for key in self._open if key in self._watch.runs]
            self._unsaved.add(live_runs, ())
            self._open, self._open_told_ns = {}, self.advanced_ns

    def _note_closed(self, live: LiveRun) -> None:
        names = (*live.run.trace_ids, *self._watch.scope_names(live.run))
        self._closed.add(live.run.tenant, names, live.first_segment, live.told)
        whole = live.trajectory()
        self._listener.closed(whole.steps)
        self._reviews.closed(whole)

    def filed(self, run: Run) -> list[Filed]:
        """What is known of approvals that may matter to a run: called from other threads."""
        with self._turn:
            return self._watch.verdicts.about(run)

    def reached(self) -> Reached:
        """A consistent look for whoever saves: called from another thread."""
        with self._turn:
            self._watch.background.learn()
            low_water = self._watch.low_water()
            return Reached(self.position, self.advanced_ns, self.received_ns, low_water, self._unsaved.take())
