"""What was told of findings, so that only news is told."""

from __future__ import annotations

from dataclasses import replace

from trailhound.collector.told import Told
from trailhound.testing import judge, tool_step

RUN = ("default", "run")
[FINDING] = judge([tool_step(number, "search", {"q": 1}, "nothing") for number in range(4)])


def test_each_is_told_once_and_its_end_once() -> None:
    told = Told()
    assert told.news(RUN, [FINDING]) == [FINDING]
    assert told.news(RUN, [FINDING]) == []
    assert told.news(RUN, []) == [replace(FINDING, state="resolved")]
    assert told.news(RUN, []) == []


def test_what_was_told_since_counts_more_than_what_comes_back_from_the_store() -> None:
    """A run that is put together again in parts has told of the part; the store shows the whole of before, still."""
    told, part = Told(), replace(FINDING, severity="info")
    told.news(RUN, [part])
    told.remember(RUN, FINDING)
    assert told.news(RUN, [FINDING]) == [FINDING]


def test_what_comes_back_is_not_told_again() -> None:
    told = Told()
    told.remember(RUN, FINDING)
    assert told.news(RUN, [FINDING]) == []
