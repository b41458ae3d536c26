"""One run as text: what went wrong first, then its facts, then every step with the finding beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from trailhound.show.facts import show_facts
from trailhound.show.findings import by_weight, show_finding, style
from trailhound.show.runs import status
from trailhound.show.screen import Column, cut, fitting, header, line, widths
from trailhound.show.steps import depths, step_words
from trailhound.show.text import NOTHING, amount, dollars, duration, plain

COLUMNS = (
    Column("#", right=True),
    Column("AT", right=True, wide=90),
    Column("TOOK", right=True),
    Column("TOKENS", right=True, wide=80),
    Column("COST", right=True, wide=110),
    Column("STEP"),
)
SHORT = 60
"""Runs of up to so many steps are shown whole."""
EDGE = 8
"""Steps shown at both ends, and 2 around each that a finding points at, when a run is longer."""


@dataclass(frozen=True)
class Mark:
    """That a finding points at a step: the step is the `nth` of `of` that it points at."""

    finding: dict[str, Any]
    nth: int
    of: int

    def text(self) -> Text:
        place = f" {self.nth} of {self.of}" if self.of > 1 else ""
        return Text(
            f"◀ {self.finding['severity'].upper()} {plain(self.finding['rule'], 40)}{place}", style=style(self.finding)
        )


def show_run(console: Console, run: dict[str, Any], *, whole: bool = False) -> None:
    """`run` is a trajectory document with steps; `whole` shows every step of a long run."""
    steps = run["steps"]
    places = {(step["trace_id"], step["span_id"]): step["index"] for step in steps}
    findings = by_weight(run["findings"])
    reason = f", {plain(run['status_reason']).replace('_', ' ')}" if run.get("status_reason") else ""
    console.print(
        status(run).append(f"  {plain(run['agent'] or run['service'], 80)}", style="bold").append(reason, style="dim")
    )
    for finding in findings:
        show_finding(console, finding, _places(finding, places))
    console.print()
    show_facts(console, run)
    console.print()
    _show_steps(console, steps, marks(findings, places), whole=whole)


def marks(findings: Sequence[dict[str, Any]], places: dict[tuple[str, str], int]) -> dict[int, list[Mark]]:
    """Which findings point at which step, by the step's index; the worst finding first."""
    found: dict[int, list[Mark]] = {}
    for finding in findings:
        at = _places(finding, places)
        for nth, index in enumerate(at, 1):
            found.setdefault(index, []).append(Mark(finding, nth, len(at)))
    return found


def _places(finding: dict[str, Any], places: dict[tuple[str, str], int]) -> list[int]:
    at = (places.get((item["trace_id"], item["span_id"])) for item in finding["evidence"])
    return [index for index in at if index is not None]


def _show_steps(
    console: Console, steps: Sequence[dict[str, Any]], marked: dict[int, list[Mark]], *, whole: bool
) -> None:
    deep, start = depths(steps), steps[0]["started_at"] if steps else None
    rows = [_row(step, start, deep[step["index"]]) for step in steps]
    wide, shown = widths(COLUMNS, rows), fitting(COLUMNS, console.width)
    before = sum(wide[index] + 2 for index in shown[:-1])
    console.print(line(header(COLUMNS), COLUMNS, wide, shown))
    keep = set(range(len(steps))) if whole or len(steps) <= SHORT else _kept(len(steps), marked)
    hidden = 0
    for index, row in enumerate(rows):
        if index not in keep:
            hidden += 1
            continue
        _show_gap(console, hidden)
        hidden = 0
        row[-1] = _beside(row[-1], marked.get(index, []), console.width - before)
        wide[-1] = console.width
        console.print(line(row, COLUMNS, wide, shown))
    _show_gap(console, hidden)


def _show_gap(console: Console, hidden: int) -> None:
    if hidden:
        console.print(Text(f"  ⋮  {hidden} more steps without a finding (--whole shows them)", style="dim"))


def _kept(total: int, marked: dict[int, list[Mark]]) -> set[int]:
    keep = {*range(EDGE), *range(total - EDGE, total)}
    for index in marked:
        keep.update(range(index - 2, index + 3))
    return keep


def _beside(words: Text, marks_here: Sequence[Mark], room: int) -> Text:
    """The step's words, shortened so that the findings that point at it fit beside them."""
    tags = Text("  ").join([mark.text() for mark in marks_here])
    if not marks_here:
        return cut(words, room)
    left = cut(words, max(16, room - len(tags) - 2))
    return left.append("  ", style="none").append_text(tags)


def _row(step: dict[str, Any], start: str | None, depth: int) -> list[Text]:
    dim = "" if step["counted"] else "dim"
    usage = step["usage"] if step["counted"] else None
    spent = NOTHING if usage is None else f"{amount(usage['input_tokens'])}+{amount(usage['output_tokens'])}"
    took = None if step["ended_at"] is None else seconds_between(step["started_at"], step["ended_at"])
    cells = (
        Text(str(step["index"])),
        Text("+" + duration(seconds_between(start, step["started_at"]))),
        Text("running" if took is None else duration(max(0.0, took))),
        Text("" if spent == NOTHING else spent),
        Text("" if step["cost_usd"] is None or not step["counted"] else dollars(step["cost_usd"])),
    )
    for cell in cells:
        cell.stylize(dim or "none")
    return [*cells, Text("  " * min(depth, 8)).append_text(step_words(step))]


def seconds_between(start: str | None, end: str | None) -> float:
    """Seconds from one RFC 3339 time to another; 0 when one is unknown."""
    from trailhound.undocument import parse_rfc3339

    return (parse_rfc3339(end) - parse_rfc3339(start)) / 1e9 if start and end else 0.0
