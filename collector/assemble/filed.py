"""What is filed about approvals: decisions as carriers tell them, and the calls that they may be about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from trailhound.evaluators.tools import bare_name
from trailhound.model import Approval, ApprovalVerdict

CallKey = tuple[str, str, str, str]
"""(tenant, trace id, span id, call id): several calls read out of one model span share its span id."""
Place = tuple[str, str]
"""(tenant, `session:ID`, `run:ID` or `trace:ID`), or (tenant, `always`): decisions count for the calls of the same place."""
Carrier = tuple[str, ...]
"""What told of decisions: (tenant, trace id, span id), or (tenant, `log`, hash) for a record without a span."""
Key = tuple[str, ...]
"""Under what a decision and a call find each other inside a place."""
ANY_TOOL: Key = ("tool", "")
"""The key of decisions of wider scope that name a call by its id alone."""


@dataclass(frozen=True, slots=True)
class Call:
    """A high-risk call, as far as decisions about it are concerned."""

    key: CallKey
    tool: str
    """As the call named it: an MCP tool with its server."""
    call_id: str | None
    arguments_hash: str | None
    start_ns: int
    altered: bool = False
    """It ran with other arguments than the model asked for, which is what a decision about its id alone approves."""

    @property
    def order(self) -> tuple[int, CallKey]:
        return (self.start_ns, self.key)


@dataclass(frozen=True, slots=True)
class Seen:
    """What the run of a call shows of it, which its verdict depends on besides what is filed."""

    shown: bool = False
    """We would have seen that somebody was asked."""
    cut: bool = False
    """The sender left out content of the run."""
    refused: bool = False
    """Its own span says that it was refused."""


@dataclass(slots=True)
class Filed:
    """What one carrier told, or one call, and where it is filed."""

    key: Carrier | CallKey
    places: tuple[Place, ...]
    received_ns: int
    decisions: tuple[Approval, ...] = ()
    call: Call | None = None
    verdict: ApprovalVerdict | None = None
    """Of a call: the last one given, whether it was held or not."""
    seen: Seen | None = None
    """Of a call: what that verdict was given on."""
    segment: int = 0
    """Journal segment in which it was filed first: a replay from there on files it again."""
    user: str = ""
    """Whose run it is in, or about; "" where nobody says."""

    @property
    def always(self) -> Place:
        """The place of what holds in every session of the tenant."""
        return (self.key[0], "always")

    def found_under(self) -> set[Key]:
        """Under which keys it is found."""
        if self.call is not None:
            return set(keys_of_call(self.call))
        return {key for decision in self.decisions for key in keys_of(decision)}


class Kept(Protocol):
    """Keeps what is filed across restarts."""

    def load(self) -> Iterable[Filed]:
        """What was filed before the part of the journal that is read again."""
        ...

    def add(self, filed: Filed) -> None:
        """Take what was filed, or filed anew."""
        ...


def keys_of_call(call: Call) -> Iterator[Key]:
    if call.call_id is not None:
        yield ("id", call.call_id)
    if call.arguments_hash is not None:
        yield ("arguments", bare_name(call.tool), call.arguments_hash)
    if call.call_id is None and call.arguments_hash is None:
        yield ("tool", bare_name(call.tool))


def keys_of(decision: Approval) -> Iterator[Key]:
    """Where a decision is found again: under its call id, its tool (by its bare name) with and without arguments,
    its place in a pause."""
    if decision.call_id is not None:
        yield ("id", decision.call_id)
    tool = bare_name(decision.tool) if decision.tool is not None else None
    if tool is not None and decision.arguments_hash is not None:
        yield ("arguments", tool, decision.arguments_hash)
    if decision.scope != "once" and (tool is not None or decision.call_id is not None):
        yield ANY_TOOL if tool is None else ("tool", tool)
    if decision.turn is not None and decision.decision != "requested":
        yield ("turn", str(decision.turn))
