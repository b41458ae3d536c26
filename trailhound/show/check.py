"""The answer of `trailhound check` as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from trailhound.show.findings import by_weight, show_finding
from trailhound.show.run import show_run
from trailhound.show.runs import show_runs, summary
from trailhound.show.text import count, plain


def show_check(console: Console, document: dict[str, Any], path: Path | None, *, steps: bool) -> None:
    """One run is shown whole; several as a list (with `steps`: whole as well), then what was found over all of them."""
    runs = document["trajectories"]
    if path is not None:
        console.print(Text(f"== {plain(str(path))}", style="bold"))
    if len(runs) == 1 or steps:
        for run in runs:
            show_run(console, run)
            console.print()
        console.print(Text(summary(runs), style="dim"))
    else:
        show_runs(console, runs)
    own = {finding["finding_id"] for run in runs for finding in run["findings"]}
    for finding in by_weight([f for f in document["findings"] if f["finding_id"] not in own]):
        console.print()
        show_finding(console, finding)
    console.print(Text(_spans(document), style="dim"))
    if path is not None:
        console.print()


def _spans(document: dict[str, Any]) -> str:
    spans = document["spans"]
    notes = [f"{spans[word]} {word}" for word in ("duplicate", "rejected") if spans[word]]
    broken = sum(item["span_id"] is None and item["trace_id"] is None for item in document["rejected"])
    notes += [f"{count(broken, 'part')} of the input unreadable"] if broken else []
    return ", ".join([f"{count(spans['received'], 'span')} read", *notes])
