"""The one domain model: Span and LogRecord as received, Step as understood, Trajectory and Finding as judged.

Everything here is plain data. Spans and steps are created millions of times, so they are slotted and not frozen;
by convention nobody changes one that was handed to them (the assembler alone sets `Step.counted`, `Step.agent`,
`Step.status` and `Step.approval`, which depend on a step's neighbours).
"""

from __future__ import annotations

from trailhound.model.finding import Alert, Finding, Trajectory
from trailhound.model.received import (
    InstrumentationScope,
    LogRecord,
    Record,
    Rejected,
    Resource,
    Span,
    SpanEvent,
    SpanLink,
)
from trailhound.model.run import Joined, Run, Totals
from trailhound.model.step import LATEST_NS, Approval, ApprovalVerdict, Failure, Model, Step, ToolCall, Usage
from trailhound.model.words import (
    AttributeValue,
    Decision,
    FindingState,
    Kind,
    RunStatus,
    Scope,
    Severity,
    Signal,
    Status,
    Verdict,
)

__all__ = [
    "LATEST_NS",
    "Alert",
    "Approval",
    "ApprovalVerdict",
    "AttributeValue",
    "Decision",
    "Failure",
    "Finding",
    "FindingState",
    "InstrumentationScope",
    "Joined",
    "Kind",
    "LogRecord",
    "Model",
    "Record",
    "Rejected",
    "Resource",
    "Run",
    "RunStatus",
    "Scope",
    "Severity",
    "Signal",
    "Span",
    "SpanEvent",
    "SpanLink",
    "Status",
    "Step",
    "ToolCall",
    "Totals",
    "Trajectory",
    "Usage",
    "Verdict",
]
