"""What a log record says of a run: of a span, of a tool call by its id, or as a step of its own."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from trailhound.collector.assemble.places import Places
from trailhound.collector.decode.encode import encode_log
from trailhound.collector.dialects import read_alone, read_decision, read_log
from trailhound.collector.store import LogRow
from trailhound.model import LogRecord, Step

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Told:
    """A log record, and the steps that hold what it says; most records of an application say nothing."""

    record: LogRecord
    said: Step | None
    """What it says of the span that it belongs to."""
    alone: Step | None
    """The step that it is by itself."""
    decided: Step | None
    """The decision about a tool call that it is."""

    @property
    def step(self) -> Step | None:
        return self.said or self.alone

    def row(self) -> LogRow | None:
        """How it is kept: under the trace that it is about, which an agent without spans does not name; None if not."""
        step, record = self.step or self.decided, self.record
        if step is None or not step.trace_id:
            return None
        return LogRow(
            record.tenant,
            step.trace_id,
            step.span_id,
            record.event_name,
            record.resource.service,
            record.time_ns,
            record.received_ns,
            encode_log(record),
        )


def told_by(record: LogRecord, task: Sequence[str]) -> Told:
    """`task` as for `dialects.read`. A record that we fail to read says nothing, as most do."""
    try:
        return Told(record, read_log(record), read_alone(record, task), read_decision(record))
    except Exception:
        log.exception("a log record of trace %s cannot be read", record.trace_id, extra={"reason": "unread"})
        return Told(record, None, None, None)


def tell(places: Places, told: Told) -> None:
    """Let a log record tell what it says where all spans have come."""
    step = told.step
    assert step is not None
    if told.said is None and places.shows_session(step):
        places.tell(step)
        return
    places.open(step.tenant, step.trace_id)
    if told.said is not None:
        places.hear(step)
    elif places.known(step) is None:
        places.add_record(step)
