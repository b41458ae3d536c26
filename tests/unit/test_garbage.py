"""What the collector of reference cycles is spared, and that nothing is lost to it for good."""

from __future__ import annotations

import gc
import subprocess
import sys

SCRIPT = """
import gc, weakref
from trailhound import garbage

class Cycle:
    def __init__(self): self.me = self

garbage.seldom()
garbage.set_aside()
garbage.set_aside()
assert len(gc.callbacks) == 1
kept = [[] for _ in range(10)]
cycle = Cycle()
seen = weakref.ref(cycle)
before = gc.get_freeze_count()
gc.collect(0)
assert gc.get_freeze_count() >= before + 11, "what survived its first pass is set aside"
del cycle
gc.collect()
assert seen() is not None, "and no pass visits it again"
assert garbage.sweep() >= 1
assert seen() is None, "but for the sweep"
assert gc.get_freeze_count() > 10, "after which all is set aside again"

young = Cycle()
seen = weakref.ref(young)
garbage.keep()
del young
gc.collect()
assert seen() is not None, "what is kept is visited by no pass, not even a first one"
assert garbage.sweep() >= 1 and seen() is None, "but for the sweep"
"""


def test_what_survives_is_visited_again_by_the_sweep_alone() -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_this_process_is_left_alone() -> None:
    assert not [callback for callback in gc.callbacks if callback.__module__ == "trailhound.garbage"]
