"""Any sequence of writes, syncs, crashes, restarts, removals and flipped bits: the journal agrees with a list."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from trailhound.clock import ManualClock
from trailhound.collector.journal import BEGIN, JournalReader
from trailhound.collector.journal.block import encode_entry
from trailhound.collector.journal.recovery import recover
from trailhound.collector.journal.segment import START, list_segments, path_of
from trailhound.collector.journal.system import SYSTEM
from trailhound.collector.journal.tail import Tail

FAST = replace(SYSTEM, fdatasync=lambda fd: None, fsync=lambda fd: None)


@dataclass
class Written:
    """The model's idea of a block: where it is, what it holds, and what became of it."""

    segment: int
    start: int
    end: int
    bodies: list[bytes]
    durable: bool = False
    lost: bool = False
    """A bit of it was flipped, or its segment was removed."""


class JournalMachine(RuleBasedStateMachine):
    """The journal without its thread, so that every step is where the test wants it; the model is `self.blocks`."""

    @initialize()
    def open(self) -> None:
        self.directory = Path(tempfile.mkdtemp())
        self.clock = ManualClock()
        self.blocks: list[Written] = []
        self.serial = 0
        self.low_water = 0
        self.follower = JournalReader(self.directory)
        self.position = BEGIN
        self.followed: list[bytes] = []
        self.start_writer()

    def start_writer(self) -> None:
        self.directory_fd = os.open(self.directory, os.O_RDONLY)
        self.end = recover(self.directory, FAST)
        self.tail = Tail(self.directory, self.directory_fd, self.end, self.clock, FAST)
        self.tail.seal()

    def stop_writer(self) -> None:
        self.tail.close()
        os.close(self.directory_fd)

    def teardown(self) -> None:
        if hasattr(self, "tail"):
            self.follow(2**30)
            kept = [body for block in self.blocks if block.durable and not block.lost for body in block.bodies]
            assert set(kept) <= set(self.followed), "who follows the journal misses nothing"
            assert len(set(self.followed)) == len(self.followed), "and sees nothing twice"
            self.stop_writer()
            shutil.rmtree(self.directory)

    @property
    def unsynced(self) -> Written | None:
        return self.blocks[-1] if self.blocks and not self.blocks[-1].durable else None

    # ------------------------------------------------------------ what can happen

    @precondition(lambda self: self.unsynced is None)
    @rule(sizes=st.lists(st.integers(0, 300), min_size=1, max_size=3))
    def append(self, sizes: list[int]) -> None:
        bodies = [b"%d:" % (self.serial + i) + b"." * size for i, size in enumerate(sizes)]
        self.serial += len(sizes)
        start = self.tail.size or START
        length = self.tail.write([encode_entry("traces", "default", body) for body in bodies])
        self.blocks.append(Written(self.end.segment, start, start + length, bodies))

    @precondition(lambda self: self.unsynced is not None)
    @rule()
    def sync(self) -> None:
        self.tail.sync()
        self.blocks[-1].durable = True

    @precondition(lambda self: self.unsynced is not None)
    @rule()
    def sync_fails(self) -> None:
        self.tail.abandon()
        self.blocks.pop()

    @precondition(lambda self: self.unsynced is None)
    @rule()
    def seal(self) -> None:
        self.tail.seal()

    @rule(kept=st.floats(0, 1))
    def crash(self, kept: float) -> None:
        """The process ends; of the unsynced block any number of bytes is left."""
        self.stop_writer()
        lost = self.unsynced
        if lost is not None:
            size = lost.start + int((lost.end - lost.start) * kept)
            os.truncate(path_of(self.directory, lost.segment), size)
            if size < lost.end:
                self.blocks.pop()
            lost.durable = True
        self.start_writer()

    @rule(limit_bytes=st.integers(1, 1000))
    def follow(self, limit_bytes: int) -> None:
        for block in self.follower.read(self.position, limit_bytes):
            assert block.position_after > self.position
            self.position = block.position_after
            self.followed += [record.body for record in block.records]

    @rule(share=st.floats(0, 1))
    def acknowledge(self, share: float) -> None:
        """The monitor has done with everything in segments before one that it has read."""
        self.low_water = max(self.low_water, int(self.position.segment * share))

    @rule()
    def delete(self) -> None:
        for segment in self.follower.sealed():
            if segment < self.low_water:
                self.follower.remove(segment)
                for block in self.blocks:
                    block.lost |= block.segment == segment

    @precondition(lambda self: self.unsynced is None)
    @rule(data=st.data())
    def flip_a_bit(self, data: st.DataObject) -> None:
        sizes = {n: path_of(self.directory, n).stat().st_size for n in list_segments(self.directory)}
        segment = data.draw(st.sampled_from([n for n, size in sizes.items() if size]))
        self.flip(segment, data.draw(st.integers(0, sizes[segment] * 8 - 1)))

    def flip(self, segment: int, bit: int) -> None:
        path = path_of(self.directory, segment)
        with path.open("r+b") as file:
            file.seek(bit // 8)
            byte = file.read(1)[0]
            file.seek(bit // 8)
            file.write(bytes((byte ^ 1 << bit % 8,)))
        for block in self.blocks:
            block.lost |= block.segment == segment and block.start <= bit // 8 < block.end

    # ------------------------------------------------------------ what must hold

    @invariant()
    def a_new_reader_agrees_with_the_model(self) -> None:
        if not hasattr(self, "tail"):
            return
        read = JournalReader(self.directory).read(BEGIN, 2**30)
        expected = [block for block in self.blocks if not block.lost]
        assert [[record.body for record in block.records] for block in read] == [block.bodies for block in expected]
        assert [(block.segment, block.position_after.offset) for block in read] == [
            (b.segment, b.end) for b in expected
        ]
        times = [block.received_ns for block in read]
        assert times == sorted(times)


JournalMachine.TestCase.settings = settings(
    max_examples=150, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestJournal = JournalMachine.TestCase


def test_a_follower_knows_the_journal_again_after_all_its_headers_were_damaged() -> None:
    """Found by the machine: the only header was damaged, a new id was made up, and the next header was damaged too."""
    for later_flips in ([0], [0, START * 8]):
        machine = JournalMachine()
        machine.open()
        machine.follow(limit_bytes=1)
        machine.flip(1, 0)
        machine.crash(kept=0.0)
        for _ in range(2):
            machine.append(sizes=[0])
            machine.sync()
        for bit in later_flips:
            machine.flip(2, bit)
        machine.a_new_reader_agrees_with_the_model()
        machine.teardown()
