"""What is known of one tool call by its id, and the step of a call that has no span."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from trailhound.collector.assemble.overheard import Key
from trailhound.model import Step, ToolCall

TRANSFER = "transfer_to_"
"""OpenAI Agents and ADK hand over by a call of the tool `transfer_to_<agent>`; its span, if any, has another name."""


class Known:
    """What is known of one call id: the parts of one call, wherever they were read."""

    __slots__ = ("allowed", "asked", "asked_by", "given", "given_to", "heard", "requests", "spans")

    def __init__(self) -> None:
        self.asked: ToolCall | None = None
        self.asked_by: Step | None = None
        """The earliest model call that asked for it; every later one repeats it in its history."""
        self.requests: dict[str | None, tuple[ToolCall, int]] = {}
        """All that was asked for under the id, by the hash of its arguments, and how often: some models use an id again."""
        self.given: ToolCall | None = None
        self.given_to: Step | None = None
        """The earliest model call that was given its result."""
        self.heard: dict[Key, Step] | None = None
        """What log records tell of it."""
        self.spans: tuple[Step, ...] = ()
        self.allowed = False
        """A person let it through, as messages say: with a result it ran, though no span tells of it (Vercel 7, legacy)."""

    @property
    def told(self) -> tuple[Step, ToolCall] | None:
        """The call and the model call that tells of it: the one that asked, else the one that was given its result."""
        if self.asked is not None and self.asked_by is not None:
            return self.asked_by, self.asked
        if self.given is not None and self.given_to is not None and self.given.name:
            return self.given_to, self.given
        return None

    def hear(self, request: ToolCall) -> None:
        """Note what a model asked for."""
        known, times = self.requests.get(request.arguments_hash, (request, 0))
        self.requests[request.arguments_hash] = (known, times + 1)

    def unhear(self, request: ToolCall) -> None:
        """It was not asked for after all."""
        known, times = self.requests.pop(request.arguments_hash, (request, 1))
        if times > 1:
            self.requests[request.arguments_hash] = (known, times - 1)


def asked_for(known: Known | None) -> list[ToolCall]:
    return [] if known is None else [call for call, _ in known.requests.values()]


def take_back(requests: Iterable[ToolCall], known: Mapping[str, Known]) -> None:
    """Another report takes the place of the one that told of these requests."""
    for request in requests:
        if request.call_id is not None and request.call_id in known:
            known[request.call_id].unhear(request)


def made_of(call_id: str, known: Known, failed: Step | None, unread: Step | None, *, handed_over: bool) -> Step:
    """The step of a call without a span; `failed` is the agent that failed while it was running, `unread` a later model
    call that must have been given the result, in messages that the sender cut."""
    assert known.told is not None
    (model, call), given = known.told, known.given
    given_to = known.given_to or unread
    ended = given_to.start_ns if given_to else failed.end_ns if failed else 0
    return Step(
        tenant=model.tenant,
        trace_id=model.trace_id,
        span_id=model.span_id,
        parent_span_id=model.parent_span_id,
        kind="tool",
        name=call.name,
        start_ns=model.start_ns if known.given_to is model else model.end_ns,  # told only when it had run
        end_ns=ended or (model.end_ns if handed_over else 0),
        status="error" if failed else "ok" if given_to or handed_over else "open",
        service=model.service,
        received_ns=model.received_ns,
        dialects=model.dialects,
        agent=model.agent,
        tool=ToolCall(call.name, call_id, call.arguments, given.result if given else None, call.arguments_hash),
        error=failed.error if failed else None,
        synthetic=True,
        truncated=known.given_to is None and unread is not None,
        scope_id=model.scope_id,
    )


def is_transfer(known: Known) -> bool:
    return known.asked is not None and known.asked.name.startswith(TRANSFER)


def asked_at(known: Known) -> tuple[tuple[int, int, str], int]:
    """In the order of the model calls that asked, and of one that asked for several in the order of its message."""
    assert known.asked_by is not None
    return known.asked_by.order, next(i for i, call in enumerate(known.asked_by.tool_requests) if call is known.asked)
