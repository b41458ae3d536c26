"""The rule `arguments`: a tool was called with arguments that the contract does not allow."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from trailhound.demands import TaskContract
from trailhound.evaluators.argument_check import Check
from trailhound.evaluators.base import Draft, Part
from trailhound.evaluators.contracts import ContractRule, Hits, Ledger
from trailhound.evaluators.tools import is_named
from trailhound.model import Run, Step

Checked = dict[str, tuple[Check, ...]]
"""Name of the tool in the contract -> checks."""
Faults = list[tuple[str, str | None, str]]
"""(name in the contract, path or None where the arguments were not recorded, what is wrong) of one call."""


@dataclass(slots=True)
class Wrong(Part):
    by_field: dict[tuple[str, str], Hits] = field(default_factory=dict)
    """(name in the contract, path) -> calls whose argument is wrong."""
    unseen: dict[str, Hits] = field(default_factory=dict)
    """Name in the contract -> calls whose arguments were not recorded."""


class Arguments(ContractRule[Wrong, Checked]):
    """A tool was called with arguments that the contract does not allow (`contracts[].arguments`).

    Each argument is checked by itself, nested ones by their path (`address.city`, `items.0.sku`; `.` is all arguments):
    `equals`, `one_of`, `between`, `min`, `max`, `matches` (RE2), `cel` (an expression over `value`). An argument that is
    absent is wrong unless the check is `optional`. One finding per tool and argument, told at the first call; its
    evidence holds every wrong call. Where the arguments were not recorded it is unknown whether they were right: one
    `info` finding per tool says so. Only executed calls are checked.
    """

    rule = "arguments"
    needs = "calls"

    def demand(self, entry: TaskContract, where: str) -> Checked | None:
        return {
            tool: tuple(Check(path, check, f"{where}.arguments.{tool}.{path}") for path, check in checks.items())
            for tool, checks in entry.arguments.items()
        } or None

    def mark(self, demand: Checked, name: str) -> tuple[str, ...] | None:
        return tuple(tool for tool in demand if is_named(name, (tool,))) or None

    def track(self) -> Wrong:
        return Wrong()

    def look(self, demand: Checked, mark: tuple[str, ...], step: Step) -> Faults | None:
        arguments = step.tool.arguments if step.tool is not None else None
        if not isinstance(arguments, dict):
            return [(tool, None, "" if arguments is None else "they are no JSON object") for tool in mark]
        faults: Faults = [
            (tool, check.path, wrong)
            for tool in mark
            for check in demand[tool]
            if (wrong := check.fault(arguments)) is not None
        ]
        return faults or None

    def take(self, track: Wrong, demand: Checked, seen: Faults, step: Step) -> bool:
        for tool, path, said in seen:
            if path is None:
                hits = track.unseen.setdefault(tool, Hits())
            else:
                hits = track.by_field.setdefault((tool, path), Hits())
            hits.add(step, said)
        return False

    def quiet(self, state: Ledger[Wrong]) -> bool:
        return not state.tracks

    def tell(self, track: Wrong, demand: Checked, contract: str, run: Run) -> Iterable[Draft]:
        for (tool, path), hits in track.by_field.items():
            check = next(each for each in demand[tool] if each.path == path)
            about = {"tool": tool, "argument": path, "check": check.demand}
            yield hits.times(
                Draft(
                    anchor=f"{contract}:{tool}:{path}",
                    severity="warning",
                    summary=f"{tool} was called with wrong arguments: {hits.said}",
                    expected=f"{path} as the contract of {contract} demands",
                    actual=hits.said,
                    evidence=hits.evidence,
                    about=hits.about,
                    details={**about, "calls": hits.calls, "contract": contract},
                )
            )
        for tool, hits in track.unseen.items():
            yield hits.times(_unknown(tool, contract, hits))


def _unknown(tool: str, contract: str, hits: Hits) -> Draft:
    return Draft(
        anchor=f"{contract}:{tool}",
        severity="info",
        summary=f"whether {tool} was called with the right arguments is unknown: {hits.said or 'they were not recorded'}",
        expected=f"arguments as the contract of {contract} demands",
        actual="unknown",
        evidence=hits.evidence,
        about=hits.about,
        details={"tool": tool, "calls": hits.calls, "contract": contract, "unknown": True},
    )
