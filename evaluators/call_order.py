"""The rule `order`: the calls of a run came in another order than its contract demands, or were too many."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from trailhound.demands import TaskContract
from trailhound.evaluators.base import Draft, Part, RuleSettings, ended
from trailhound.evaluators.contracts import ContractRule, Hits
from trailhound.evaluators.sequence import Expected
from trailhound.evaluators.tools import Tools
from trailhound.model import Run, Step

MAX_CALLS = 1000
"""Calls of IN_ORDER and ANY_ORDER that are compared; more cannot be judged, and the finding says so."""


@dataclass(slots=True)
class Made(Part):
    calls: Hits = field(default_factory=Hits)
    """All that the order speaks of; EXACT: all calls."""
    number: int = 0
    """All calls."""
    places: int = -1
    """EXACT: see `Expected.advance`; -1 before the first call."""
    due: tuple[str, ...] = ()
    """EXACT: what could have come instead of the call that had no place."""
    stray: Hits | None = None
    """EXACT: the first call that had no place."""
    masks: list[int] = field(default_factory=list)
    alike: int = 0
    """How many of the last of `masks` are equal."""
    reached: int = 0
    """How many steps came, one after the other, as IN_ORDER demands of an order without optional ones."""
    cut: bool = False
    over: Hits | None = None
    """The calls beyond `max_calls`."""


class CallOrder(ContractRule[Made, Expected]):
    """The tool calls of the run did not come in the order that its contract demands (`contracts[].order`).

    `EXACT`: these calls and no others, told at the first call that has no place. `IN_ORDER`: these calls one after the
    other, others may lie between. `ANY_ORDER`: each of these calls, whenever; a name given twice asks for two calls. The
    last two are judged when the run has ended. A step may name alternatives (`any_of`) or be `optional`: it need not
    come, but when it comes, then (EXACT, IN_ORDER) in its place. `max_calls` is a budget of steps: how many tool calls
    the run may make, told at the first one too many. Calls are in order of their start, and only executed ones count.
    """

    rule = "order"

    def __init__(self, settings: RuleSettings, tools: Tools) -> None:
        super().__init__(settings, tools)
        self.concludes_early = any(d.exact or d.max_calls is not None for d in self._demands.values())
        self.at_end_alone = not self.concludes_early

    def demand(self, entry: TaskContract, where: str) -> Expected | None:
        order = entry.order
        if order is None or not (order.tools or order.mode == "EXACT" or order.max_calls is not None):
            return None
        return Expected(order, f"{where}.order")

    def mark(self, demand: Expected, name: str) -> int | None:
        mask = demand.mask(name)
        return mask if mask or demand.exact or demand.max_calls is not None else None

    def track(self) -> Made:
        return Made()

    def take(self, track: Made, demand: Expected, seen: int, step: Step) -> bool:
        track.number += 1
        if demand.max_calls is not None and track.number > demand.max_calls:
            track.over = track.over or Hits()
            track.over.add(step)
        if demand.exact:
            self._follow(track, demand, seen, step)
        elif seen:
            self._collect(track, demand, seen, step)
        return demand.closes and track.reached == demand.steps

    def _collect(self, track: Made, demand: Expected, mark: int, step: Step) -> None:
        track.calls.add(step)
        alike = track.alike + 1 if track.alike and track.masks[-1] == mark else 1
        if alike > demand.steps:
            return  # so many of one kind in a row change nothing any more
        if len(track.masks) >= MAX_CALLS:
            track.cut = True
            return
        track.masks.append(mark)
        track.alike = alike
        track.reached += mark >> track.reached & 1

    def _follow(self, track: Made, demand: Expected, mark: int, step: Step) -> None:
        if track.places == 0:
            return
        before = demand.start if track.places < 0 else track.places
        track.places = demand.advance(before, mark)
        if track.places:
            track.calls.add(step)
        else:
            track.stray = Hits()
            track.stray.add(step, step.tool.name if step.tool is not None else step.name)
            track.due = (*demand.due(before), *(("the end of the run",) if demand.done(before) else ()))

    def tell(self, track: Made, demand: Expected, contract: str, run: Run) -> Iterable[Draft]:
        if track.over is not None:
            actual = f"{track.number} tool calls"
            draft = _draft(contract, "max_calls", f"{actual} of {demand.max_calls} allowed", actual, track.over)
            draft.expected = f"at most {demand.max_calls} tool calls"
            draft.details = {"contract": contract, "order": demand.demand, "calls": track.number}
            yield draft
        found = self._stray(track, track.stray, contract) if track.stray is not None else None
        if found is None and ended(run):
            found = self._unmet(track, demand, contract)
        if found is not None:
            found.expected = f"the calls {demand}"
            found.details = {"contract": contract, "order": demand.demand, **found.details}
            yield found

    def _stray(self, track: Made, stray: Hits, contract: str) -> Draft:
        name, due = stray.said[:80], " or ".join(track.due)
        draft = _draft(contract, "order", f"{name} was called where {due} was due", f"{name} instead", stray)
        draft.details = {"tool": stray.said, "due": list(track.due)}
        return draft

    def _unmet(self, track: Made, demand: Expected, contract: str) -> Draft | None:
        """What is missing now that no more calls come."""
        if demand.exact:
            places = demand.start if track.places < 0 else track.places
            missing = None if demand.done(places) else " or ".join(demand.due(places))
        else:
            place = demand.unmet(track.masks)
            missing = None if place is None else demand.words(place)
        if missing is None:
            return None
        place_of = " in its place" if demand.mode == "IN_ORDER" else ""
        draft = _draft(contract, "order", f"no call of {missing}{place_of}", "the run ended without it", track.calls)
        draft.details = {"due": [missing]}
        if track.cut:
            draft.severity, draft.details = "info", {**draft.details, "compared": f"only the first {MAX_CALLS} calls"}
        return draft


def _draft(contract: str, what: str, summary: str, actual: str, calls: Hits) -> Draft:
    about = f"{summary} (contract of {contract})"
    draft = Draft(f"{contract}:{what}", "warning", about, "", actual, calls.evidence, calls.about)
    return calls.times(draft)
