"""The facts of one run in a few lines: who ran, how long, what it took, what went in and out."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from trailhound.show.text import amount, count, dollars, duration, message, plain

CONTENT = 300
"""Characters of the run's input and output that are shown."""


def show_facts(console: Console, run: dict[str, Any]) -> None:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True, min_width=10)
    grid.add_column(overflow="fold")
    for label, words in facts(run).items():
        grid.add_row(Text(label), Text(words))
    console.print(grid)


def facts(run: dict[str, Any]) -> dict[str, str]:
    """Label -> words; what is not known is left out, but a missing answer is said."""
    found = {
        "input": message(run["input"], CONTENT) if run["input"] is not None else "",
        "output": message(run["output"], CONTENT) if run["output"] is not None else "none recorded",
        "took": _time(run),
        "did": _totals(run["totals"]),
        "agents": ", ".join(plain(agent, 60) for agent in run["agents"]) if len(run["agents"]) > 1 else "",
        "service": _service(run),
        "session": plain(run["session_id"] or "", 120),
        "run": run["trajectory_id"],
        "trace": ", ".join(run["trace_ids"][:4]) + (" ..." if len(run["trace_ids"]) > 4 else ""),
    }
    return {label: words for label, words in found.items() if words}


def _time(run: dict[str, Any]) -> str:
    start = run["started_at"] or "unknown"
    so_far = " so far" if run["status"] in ("open", "waiting") else ""
    return f"{duration(run['duration_s'])}{so_far}, from {start.replace('T', ' ')[:23]} UTC"


def _totals(totals: dict[str, Any]) -> str:
    calls = count(totals["tool_calls"], "tool call") + (
        f" ({totals['tool_errors']} failed)" if totals["tool_errors"] else ""
    )
    return f"{count(totals['turns'], 'turn')}, {calls}, {_tokens(totals)}, {_cost(totals)}"


def _tokens(totals: dict[str, Any]) -> str:
    given, written, cached = totals["input_tokens"], totals["output_tokens"], totals["cache_read_tokens"]
    if given is None and written is None:
        return "tokens unknown"
    read = f" ({amount(cached)} cached)" if cached else ""
    parts = (f"{_known(given)} tokens in{read}", f"{_known(written)} out")
    return ", ".join(parts) + _gap(totals.get("unmetered_calls"), "usage")


def _known(number: int | None) -> str:
    return "unknown" if number is None else amount(number)


def _cost(totals: dict[str, Any]) -> str:
    cost = totals["cost_usd"]
    return "cost unknown" if cost is None else dollars(cost) + _gap(totals["unpriced_calls"], "a price")


def _gap(calls: int | None, what: str) -> str:
    return f" + {count(calls, 'call')} without {what}" if calls else ""


def _service(run: dict[str, Any]) -> str:
    version = f" {plain(run['service_version'], 40)}" if run["service_version"] else ""
    environment = f" in {plain(run['environment'], 40)}" if run["environment"] else ""
    return f"{plain(run['service'], 80)}{version}{environment}"
