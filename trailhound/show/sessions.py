"""Sessions as text: a list of them, and one with its runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from trailhound.show.findings import by_weight, show_finding
from trailhound.show.runs import show_runs, tokens
from trailhound.show.screen import Column, table
from trailhound.show.text import amount, count, dollars, duration, moment, plain

COLUMNS = (
    Column("SESSION", most=48),
    Column("RUNS", right=True),
    Column("TURNS", right=True),
    Column("TOKENS", right=True),
    Column("COST", right=True),
    Column("STARTED", wide=90),
    Column("AGENT", most=32, wide=90),
)


def show_sessions(console: Console, sessions: Sequence[dict[str, Any]]) -> None:
    """A table, newest first as given."""
    table(console, COLUMNS, [_row(session) for session in sessions])
    console.print(Text(count(len(sessions), "session"), style="dim"))


def _row(session: dict[str, Any]) -> list[Text]:
    totals = session["totals"]
    return [
        Text(plain(session["session_id"]), style="bold"),
        Text(f"{session['trajectories']}" + (f" ({session['open']} open)" if session["open"] else "")),
        Text(str(totals["turns"])),
        Text(amount(tokens(totals))),
        Text(dollars(totals["cost_usd"])),
        Text(moment(session["started_at"])),
        Text(plain(session["agent"] or session["service"], 80)),
    ]


def show_session(console: Console, session: dict[str, Any]) -> None:
    """The session's own findings, then its runs in the order in which they began."""
    session_id, runs = session["session_id"], session["trajectories"]
    took = sum(run["duration_s"] or 0.0 for run in runs)
    console.print(Text(f"session {plain(session_id)}", style="bold").append(f"  {duration(took)} of work", style="dim"))
    for finding in by_weight(session["findings"]):
        show_finding(console, finding)
    console.print()
    show_runs(console, runs)
