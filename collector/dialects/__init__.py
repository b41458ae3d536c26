"""Station 4: span -> step. A new dialect is one file here that defines `DIALECT`."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Sequence

from trailhound.collector.dialects.base import Dialect, Pauses
from trailhound.collector.dialects.logs import as_span, decision_span
from trailhound.collector.dialects.reader import Reader, dialects
from trailhound.collector.dialects.standalone import alone
from trailhound.model import LogRecord, Span, Step

__all__ = [
    "DIALECTS",
    "Dialect",
    "pause_is_binding",
    "read",
    "read_all",
    "read_alone",
    "read_decision",
    "read_log",
    "settle",
    "tells_of_pauses",
    "unread",
]

log = logging.getLogger(__name__)

DIALECTS: list[Dialect] = dialects(sys.modules[__name__])
_reader = Reader(DIALECTS)
_pausing = {d.name: d.tells_of_pauses for d in DIALECTS if d.tells_of_pauses is not None}
_settlers = {d.name: d.settle for d in DIALECTS if d.settle is not None}


def read(span: Span, task: Sequence[str] = ()) -> Step:
    """What `span` means for the agent; `task` are attribute keys that name the run's task, the first present wins.

    One that we fail to read is a step that says nothing and is `truncated`: the others of its request, and whoever reads it
    again, must not suffer from it.
    """
    try:
        return _reader.read(span, task)
    except Exception:
        log.exception("span %s of trace %s cannot be read", span.span_id, span.trace_id, extra={"reason": "unread"})
        return _reader.bare(span)


def read_all(spans: Sequence[Span], task: Sequence[str] = ()) -> list[Step]:
    """The steps of `spans`, in their order, as `read` makes them.

    Those with as many attributes are read one after another: most are alike, and what is alike finds the processor's
    caches filled, which saves a tenth.
    """
    steps: dict[int, Step] = {}
    for place in sorted(range(len(spans)), key=[len(span.attributes) for span in spans].__getitem__):
        steps[place] = read(spans[place], task)
    return [steps[place] for place in range(len(spans))]


def unread(names: Iterable[str]) -> list[tuple[str, str]]:
    """(dialect, attribute key) for every attribute in a dialect's name space that no reader knows: a renamed one?"""
    return [(dialect, name) for name in names for dialect in _reader.table.unread(name)]


def read_log(record: LogRecord) -> Step | None:
    """What a log record says about the span that it belongs to, as a step that holds only that; None when nothing."""
    span = as_span(record)
    step = None if span is None else read(span)
    return step if step is not None and (step.dialects or step.approvals) else None


def read_decision(record: LogRecord) -> Step | None:
    """The decision about a tool call that a record of the neutral convention is, as a step; None when it is none."""
    span = decision_span(record)
    step = None if span is None else read(span)
    return step if step is not None and step.approvals else None


def read_alone(record: LogRecord, task: Sequence[str] = ()) -> Step | None:
    """The step that a log record is by itself, where an agent sends no spans; None when it is none."""
    span = alone(record)
    return None if span is None else read(span, task)


def tells_of_pauses(step: Step) -> Pauses:
    """Whether a pause for a person before this call would show in its dialect, and when (`Dialect.tells_of_pauses`)."""
    told = (_pausing[name](step.instrumentation) for name in step.dialects if name in _pausing)
    return next((when for when in told if when), "")


def pause_is_binding(step: Step) -> bool:
    """Whether who paused this call runs it only once somebody has agreed; in a graph the tool itself asks and decides."""
    return step.instrumentation != "langsmith" and not step.instrumentation.endswith(".langchain")


def settle(step: Step) -> None:
    """Let the dialects of a tool step judge its status by a result that was found elsewhere; changes the step."""
    for name in step.dialects:
        if name in _settlers:
            _settlers[name](step)
