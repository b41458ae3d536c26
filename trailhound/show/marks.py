"""Which steps of a run a finding points at, and what stands beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from trailhound.show.findings import style
from trailhound.show.text import plain

Place = tuple[str, str]
"""(trace id, span id)."""


@dataclass(frozen=True)
class Mark:
    """That a finding points at a step: the step is the `nth` of `of` that it points at."""

    finding: dict[str, Any]
    nth: int
    of: int

    def text(self) -> Text:
        metric = self.finding["details"].get("metric")
        words = f"{self.finding['severity'].upper()} {plain(self.finding['rule'], 40)}"
        words += f" {plain(metric, 40)}" if isinstance(metric, str) else ""
        return Text(f"◀ {words}" + (f" {self.nth} of {self.of}" if self.of > 1 else ""), style=style(self.finding))


def places_of(finding: dict[str, Any], steps: Sequence[dict[str, Any]]) -> list[int]:
    """Indexes of the steps in the finding's evidence, as far as they are in this run."""
    at: dict[Place, list[int]] = {}
    for index, step in enumerate(steps):
        at.setdefault((step["trace_id"], step["span_id"]), []).append(index)
    found = (at.get((item["trace_id"], item["span_id"])) for item in finding["evidence"])
    return [_meant(finding, indexes, steps) for indexes in found if indexes]


def _meant(finding: dict[str, Any], indexes: Sequence[int], steps: Sequence[dict[str, Any]]) -> int:
    """Which of several steps of one span: a tool call without a span of its own shares that of the model call."""
    details = finding["details"]
    tools = details.get("tools") if isinstance(details.get("tools"), list) else [details.get("tool")]
    of_tool = [index for index in indexes if steps[index]["tool"] is not None]
    if finding["rule"] == "budget" and details.get("metric") != "tool_calls":
        return next((index for index in indexes if index not in of_tool), indexes[0])
    return next((index for index in of_tool if steps[index]["tool"]["name"] in tools), (of_tool or indexes)[0])


def marks(findings: Sequence[dict[str, Any]], steps: Sequence[dict[str, Any]]) -> dict[int, list[Mark]]:
    """What stands beside which step, by the step's index; the findings in their order.

    A budget is used by every call: it stands beside the one that used it up.
    """
    found: dict[int, list[Mark]] = {}
    for finding in findings:
        at = places_of(finding, steps)
        if finding["rule"] == "budget" and at:
            at = [_used_up(finding, at, steps)]
        for nth, index in enumerate(at, 1):
            found.setdefault(index, []).append(Mark(finding, nth, len(at)))
    return found


def _used_up(finding: dict[str, Any], at: Sequence[int], steps: Sequence[dict[str, Any]]) -> int:
    """The step at which what was used reached the limit; the last one where that cannot be computed."""
    amount_of = _AMOUNTS.get(finding["details"].get("metric", ""))
    try:
        limit = float(finding["details"]["limit"])
    except (KeyError, TypeError, ValueError):
        return at[-1]
    used = 0.0
    for index in at:
        used += amount_of(steps[index]) if amount_of is not None else 0.0
        if used >= limit:
            return index
    return at[-1]


def _tokens(step: dict[str, Any], *, fresh: bool = False) -> float:
    usage = step["usage"] or {}
    used = (usage.get("input_tokens") or 0) + (usage.get("output_tokens") or 0)
    return float(used - (usage.get("cache_read_tokens") or 0 if fresh else 0))


_AMOUNTS: dict[str, Callable[[dict[str, Any]], float]] = {
    "turns": lambda step: 1.0,
    "tool_calls": lambda step: 1.0,
    "tokens": _tokens,
    "fresh_tokens": lambda step: _tokens(step, fresh=True),
    "cost_usd": lambda step: float(step["cost_usd"] or 0),
}
"""How much of each metric of `budget` one step of its evidence used; `duration` is not made of steps."""
