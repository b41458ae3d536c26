"""The rule `missing-tool`: the run is over and a tool that its contract demands was never called."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from trailhound.demands import TaskContract
from trailhound.evaluators.base import Draft, Part, ended, ref
from trailhound.evaluators.contracts import ContractRule
from trailhound.evaluators.tools import is_named
from trailhound.model import Run, Step

Demanded = tuple[str, ...]


@dataclass(slots=True)
class Called(Part):
    names: set[str] = field(default_factory=set)
    """Those of the contract that were called."""
    last: Step | None = None


class MissingTool(ContractRule[Called, Demanded]):
    """The run is over and a tool that its contract demands was never called (`contracts[].must`).

    Said only when the run has ended, one finding per name, and taken back when the call arrives after all. The evidence
    is the last call that came under the contract. Only executed calls count, those that failed too: `tool-error` tells
    of them. Names may be globs, and the bare name of an MCP tool matches it whatever its server.
    """

    rule = "missing-tool"
    at_end_alone = True
    concludes_early = False

    def demand(self, entry: TaskContract, where: str) -> Demanded | None:
        return tuple(dict.fromkeys(entry.must)) or None

    def mark(self, demand: Demanded, name: str) -> frozenset[str]:
        return frozenset(each for each in demand if is_named(name, (each,)))

    def track(self) -> Called:
        return Called()

    def take(self, track: Called, demand: Demanded, seen: frozenset[str], step: Step) -> bool:
        track.names |= seen
        track.last = step
        return len(track.names) == len(demand)

    def tell(self, track: Called, demand: Demanded, contract: str, run: Run) -> Iterable[Draft]:
        if not ended(run):
            return
        for name in demand:
            if name in track.names:
                continue
            yield Draft(
                anchor=f"{contract}:{name}",
                severity="warning",
                summary=f"{name} was never called, which the contract of {contract} demands",
                expected=f"a call of {name}",
                actual=f"the run is {run.status} without one",
                evidence=(ref(track.last),) if track.last is not None else (),
                about=track.last,
                details={"tool": name, "contract": contract},
            )
