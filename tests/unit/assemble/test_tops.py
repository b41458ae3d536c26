"""Runs whose root never comes: called by a service that sends its spans elsewhere, or cut off when the process died."""

from __future__ import annotations

from typing import Any

import pytest

from trailhound.collector.assemble.life import Signs, at_rest, outlook
from trailhound.config import Runs
from trailhound.model import Step, ToolCall

SIGNS = Signs(root_ended=False, root_failed=False, paused=False, last_received_ns=1)


def step(span_id: str, parent: str, kind: Any, start: int, end: int, **fields: Any) -> Step:
    status = fields.pop("status", "ok")
    return Step("t", fields.pop("trace_id", "aa"), span_id, parent, kind, span_id, start, end, status, "shop", **fields)


AGENT = step("agent", "gateway", "agent", 1, 9, container=True)
ASKS = step("m1", "agent", "llm", 2, 3, tool_requests=(ToolCall("search", "c1"),))
CALL = step("t1", "agent", "tool", 4, 5, tool=ToolCall("search", "c1"))
ANSWER = step("m2", "agent", "llm", 6, 7, output="done")
WHOLE = [AGENT, ASKS, CALL, ANSWER]


def changed(of: Step, **fields: Any) -> Step:
    import dataclasses

    return dataclasses.replace(of, **fields)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (WHOLE, ("completed", "top_ended")),
        ([changed(AGENT, kind="other", container=False), ASKS, CALL, ANSWER], ("completed", "top_ended")),
        ([AGENT, ASKS, CALL, changed(ANSWER, output=None)], ("unfinished", "idle")),  # asked last, as far as is known
        (
            [AGENT, changed(ASKS, tool_requests=()), changed(ANSWER, output=None)],
            ("completed", "top_ended"),
        ),  # no content
        ([changed(AGENT, status="error"), ASKS], ("failed", "top_error")),
        ([AGENT, ASKS, CALL, changed(ANSWER, status="error")], ("unfinished", "idle")),
        ([changed(AGENT, local_parent=True), ASKS, CALL, ANSWER], ("unfinished", "idle")),  # its process had a parent
        ([ASKS, CALL, ANSWER], ("unfinished", "idle")),  # several without a parent
        ([AGENT, ASKS], ("unfinished", "idle")),  # died while the tool ran
        ([AGENT, ASKS, changed(CALL, status="open"), ANSWER], ("unfinished", "idle")),
        ([*WHOLE, step("x", "gateway", "llm", 10, 11)], ("unfinished", "idle")),
        (
            [*WHOLE, step("later", "gateway", "agent", 12, 15, container=True, trace_id="bb")],
            ("completed", "top_ended"),
        ),
        ([AGENT, CALL], ("unfinished", "idle")),
        ([changed(AGENT, parent_span_id="m1"), ASKS], ("unfinished", "idle")),  # each is the other's parent
        ([step("m", "m", "llm", 1, 2)], ("unfinished", "idle")),
    ],
)
def test_what_stands_around_everything_tells_how_it_ended(steps: list[Step], expected: tuple[str, str]) -> None:
    view = outlook(SIGNS, Runs())
    assert at_rest(view, lambda: steps) == expected
    assert at_rest(view, lambda: steps[::-1]) == expected


def test_a_run_with_a_root_ends_as_its_root_says() -> None:
    view = outlook(SIGNS._replace(root_ended=True, root_failed=True), Runs())
    assert at_rest(view, lambda: WHOLE) == ("failed", "root_error")
