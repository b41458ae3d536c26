"""The rule `forbidden-tool`: a tool ran that the contract of the agent or task forbids."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from trailhound.demands import TaskContract
from trailhound.evaluators.base import Draft, Part
from trailhound.evaluators.contracts import ContractRule, Hits, Ledger
from trailhound.evaluators.tools import is_named
from trailhound.model import Run, Step

Forbidden = tuple[str, ...]


@dataclass(slots=True)
class Ran(Part):
    by_name: dict[str, Hits] = field(default_factory=dict)
    """By the name in the contract."""


class ForbiddenTool(ContractRule[Ran, Forbidden]):
    """A tool ran that the contract of this agent or task forbids (`contracts[].must_not`); critical, and at once.

    One finding per forbidden name; its evidence holds every call. Names may be globs (`delete_*`), and the bare name of
    an MCP tool matches it whatever its server. Only executed calls count: one that was denied, that waits for a person
    or that never came to its end did not run. A contract of an `agent` is about its own calls, and in runs that belong
    to it also about those of agents without a contract of their own; one of a `task` is about all calls of the run.
    """

    rule = "forbidden-tool"
    needs = "calls"

    def demand(self, entry: TaskContract, where: str) -> Forbidden | None:
        return tuple(entry.must_not) or None

    def mark(self, demand: Forbidden, name: str) -> str | None:
        return next((each for each in demand if is_named(name, (each,))), None)

    def track(self) -> Ran:
        return Ran()

    def take(self, track: Ran, demand: Forbidden, seen: str, step: Step) -> bool:
        hits = track.by_name.get(seen)
        if hits is None:
            hits = track.by_name[seen] = Hits()
        hits.add(step, step.tool.name if step.tool is not None else seen)
        return False

    def quiet(self, state: Ledger[Ran]) -> bool:
        return not state.tracks

    def tell(self, track: Ran, demand: Forbidden, contract: str, run: Run) -> Iterable[Draft]:
        for name, hits in track.by_name.items():
            tool = hits.said[:80]
            yield hits.times(
                Draft(
                    anchor=f"{contract}:{name}",
                    severity="critical",
                    summary=f"{tool} ran, which the contract of {contract} forbids",
                    expected=f"no call of {name}",
                    actual=f"{hits.calls} call{'s' if hits.calls > 1 else ''} of {tool}",
                    evidence=hits.evidence,
                    about=hits.about,
                    details={"tool": hits.said, "forbidden": name, "calls": hits.calls, "contract": contract},
                )
            )
