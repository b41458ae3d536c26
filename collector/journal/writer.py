"""Appending to the journal: requests that arrive while the disk syncs share the next block and its sync."""

from __future__ import annotations

import fcntl
import logging
import os
import threading
from collections import deque
from concurrent.futures import Future
from pathlib import Path
from typing import NamedTuple, Self

from trailhound import config
from trailhound.clock import Clock
from trailhound.collector.journal.block import HEADER_SIZE, Entry, encode_entry
from trailhound.collector.journal.recovery import recover
from trailhound.collector.journal.segment import size_bytes
from trailhound.collector.journal.space import Space
from trailhound.collector.journal.system import FULL, SYSTEM, System
from trailhound.collector.journal.tail import Tail
from trailhound.errors import Invalid, Retryable
from trailhound.metrics import Metrics
from trailhound.model import Signal

log = logging.getLogger(__name__)

MAX_BLOCK = 16 * 2**20
"""Bytes of records after which a block takes no more: bounds what a reader must hold at once. One record may be larger."""
_MEASURE_S = 1.0
"""Seconds between two looks at the disk: what the monitor deletes frees space without telling."""


class _Waiting(NamedTuple):
    entry: Entry
    done: Future[None]


class JournalWriter:
    """The only writer of a journal. Opening it recovers the journal; use `close` or a `with` block to end.

    `failed` is set when the disk failed twice in a row: nothing is acknowledged any more and the process should exit
    with an error, so that a restart recovers. Raises Invalid when the directory is in use or cannot be used.
    """

    def __init__(
        self,
        directory: Path,
        settings: config.Journal,
        clock: Clock,
        *,
        metrics: Metrics | None = None,
        system: System = SYSTEM,
    ) -> None:
        self.failed = threading.Event()
        self._directory = directory
        self._settings = settings
        self._clock = clock
        self._metrics = metrics
        self._system = system
        self._wake = threading.Condition(threading.Lock())
        self._queue: deque[_Waiting] = deque()  # this and the next three are guarded by _wake
        self._queued_bytes = 0
        self._refusal: str | None = None
        self._space = Space(settings)
        self._measure_at_s = 0.0
        self._batch: list[_Waiting] = []  # what the writer thread is committing
        self._directory_fd = _lock(directory)
        try:
            self._open()
        except BaseException:
            os.close(self._directory_fd)
            raise
        self._thread = threading.Thread(target=self._run, name="journal-writer", daemon=True)
        self._thread.start()

    def append(self, signal: Signal, tenant: str, body: bytes) -> Future[None]:
        """Hand in one request body; thread-safe, never blocks on the disk.

        The future resolves when the record is durable, and never before. It fails with Retryable when the journal or
        the disk is full, a write or sync failed, or the writer is closing; the record may be in the journal even so.
        `body` must not change afterwards.
        """
        entry = encode_entry(signal, tenant, body)
        done: Future[None] = Future()
        done.set_running_or_notify_cancel()  # a caller that stops waiting must not cancel what is being written
        with self._wake:
            refusal = self._refusal or self._space.reserve(entry.size + HEADER_SIZE)  # at most a block of its own
            if refusal is None:
                self._queue.append(_Waiting(entry, done))
                self._queued_bytes += entry.size
                self._wake.notify()
        if refusal is not None:
            done.set_exception(Retryable(refusal))
        return done

    def close(self) -> None:
        """Write what was accepted, then stop; safe to call twice. The next writer seals the last segment."""
        with self._wake:
            self._refusal = self._refusal or "the journal is closing"
            self._wake.notify()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------ opening

    def _open(self) -> None:
        end = recover(self._directory, self._system)
        if self._metrics is not None:
            self._metrics.inc("trailhound_journal_cut_bytes_total", end.cut_bytes)
        self._tail = Tail(self._directory, self._directory_fd, end, self._clock, self._system)
        self._seal()
        self._measure()

    # ------------------------------------------------------------ the writer thread

    def _run(self) -> None:
        try:
            while (batch := self._next_batch()) is not None:
                self._batch = batch
                if batch:
                    self._commit(batch)
                self._seal_if_due()
                if self._clock.monotonic_s() >= self._measure_at_s:
                    self._measure()
        except Exception as error:  # noqa: BLE001 - a writer that dies silently would leave its clients waiting
            self._fail(error)
        finally:
            self._tail.close()
            os.close(self._directory_fd)

    def _next_batch(self) -> list[_Waiting] | None:
        """What waits, up to MAX_BLOCK; [] when there is other work to do; None when closed and all is written."""
        with self._wake:
            if not self._queue and self._refusal is None:
                self._wake.wait(self._idle_s())
            if not self._queue:
                return None if self._refusal else []
            batch: list[_Waiting] = []
            size = 0
            while self._queue and (not batch or size + self._queue[0].entry.size <= MAX_BLOCK):
                waiting = self._queue.popleft()
                size += waiting.entry.size
                batch.append(waiting)
            self._queued_bytes -= size
            return batch

    def _idle_s(self) -> float:
        due = self._tail.due_in(self._settings.segment_age)
        measure = self._measure_at_s - self._clock.monotonic_s()
        return max(0.001, measure if due is None else min(due, measure))

    def _commit(self, batch: list[_Waiting]) -> None:
        """One block and one sync for the whole batch, then the answers."""
        entries = [waiting.entry for waiting in batch]
        try:
            self._tail.write(entries)
        except OSError as error:
            self._tail.abandon()
            self._refuse_if_full(error)
            _answer(batch, Retryable(f"the journal cannot be written: {error.strerror}"))
            log.error("journal: write failed: %s", error)
            return
        try:
            self._sync()
        except OSError as error:
            self._tail.abandon()
            _answer(batch, Retryable(f"the journal cannot be synced: {error.strerror}"))
            log.error("journal: sync failed, going on in a new segment: %s", error)
            self._rewrite(entries)
            return
        _answer(batch, None)

    def _sync(self) -> None:
        started = self._clock.monotonic_s()
        self._tail.sync()
        if self._metrics is not None:
            self._metrics.observe("trailhound_journal_fsync_seconds", self._clock.monotonic_s() - started)

    def _rewrite(self, entries: list[Entry]) -> None:
        """After a failed sync: keep the records in a new file all the same, for clients that do not ask again.

        Raises OSError when that fails too: the disk is broken and no promise can be kept.
        """
        try:
            self._tail.write(entries)
            self._sync()
        except OSError as error:
            self._tail.abandon()
            if not self._refuse_if_full(error):
                raise

    def _refuse_if_full(self, error: OSError) -> bool:
        if error.errno not in FULL:
            return False
        with self._wake:
            self._space.refuse(f"the journal cannot be written: {error.strerror}")
        return True

    def _seal_if_due(self) -> None:
        due = self._tail.due_in(self._settings.segment_age)
        if due is not None and (due <= 0 or self._tail.size >= self._settings.segment_size):
            self._seal()

    def _seal(self) -> None:
        try:
            self._tail.seal()
        except OSError as error:  # nothing is lost: the next write tries again, and tells its waiters
            log.warning("journal: the next segment could not be started: %s", error)

    def _measure(self) -> None:
        self._measure_at_s = self._clock.monotonic_s() + _MEASURE_S
        used, free = size_bytes(self._directory), self._system.free_bytes(self._directory)
        with self._wake:
            self._space.measured(used + self._queued_bytes, free - self._queued_bytes)
        if self._metrics is not None:
            self._metrics.set("trailhound_journal_bytes", used)
            self._metrics.set("trailhound_journal_fill_ratio", used / self._settings.max_size)

    def _fail(self, error: Exception) -> None:
        log.critical("journal: giving up, nothing is acknowledged any more: %s", error, exc_info=error)
        with self._wake:
            self._refusal = "the journal has failed"
            left = [*self._batch, *self._queue]
            self._queue.clear()
        _answer([waiting for waiting in left if not waiting.done.done()], Retryable(self._refusal))
        self.failed.set()


def _answer(batch: list[_Waiting], error: Retryable | None) -> None:
    for waiting in batch:
        if error is None:
            waiting.done.set_result(None)
        else:
            waiting.done.set_exception(error)


def _lock(directory: Path) -> int:
    """A locked descriptor of `directory`, which is created where missing; the lock ends with the process."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise Invalid(f"the journal directory {directory} cannot be used: {error.strerror}", reason="journal") from None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        raise Invalid(
            f"the journal {directory} is in use by another trailhound: stop that one or choose another data_dir",
            reason="journal_in_use",
        ) from None
    return fd
