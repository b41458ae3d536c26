"""The rule `arguments`: a tool was called with arguments that the contract does not allow."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from trailhound.demands import TaskContract
from trailhound.evaluators.argument_check import Check
from trailhound.evaluators.base import Draft, Part
from trailhound.evaluators.contracts import ContractRule, Hits
from trailhound.evaluators.tools import is_named
from trailhound.model import Run, Step

Checked = dict[str, tuple[Check, ...]]
"""Name of the tool in the contract -> checks."""


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

    def take(self, track: Wrong, demand: Checked, mark: tuple[str, ...], step: Step) -> None:
        arguments = step.tool.arguments if step.tool is not None else None
        for tool in mark:
            if not isinstance(arguments, dict):
                track.unseen.setdefault(tool, Hits()).add(step, "" if arguments is None else "they are no JSON object")
                continue
            for check in demand[tool]:
                wrong = check.fault(arguments)
                if wrong is not None:
                    track.by_field.setdefault((tool, check.path), Hits()).add(step, wrong)

    def quiet(self, tracks: Collection[Wrong]) -> bool:
        return not any(track.by_field or track.unseen for track in tracks)

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
