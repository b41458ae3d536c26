"""`trailhound trajectories`: the runs that a daemon has seen."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from trailhound import options
from trailhound.asking import WHEN, WHO, answer, group, listing

Status = Annotated[
    Literal["open", "waiting", "completed", "failed", "unfinished"] | None,
    typer.Option("--status", help="Only runs with this status."),
]


def register(app: typer.Typer) -> None:
    help = "List runs, newest first, with what went wrong under each."
    filters = {"status": Status, **WHO, "session_id": options.Session, **WHEN}
    commands = {"list": listing("trajectories", help, filters, "runs.show_runs"), "show": show_run}
    group(app, "trajectories", "Runs of agents that a running daemon has seen: list them, show one.", commands)


def show_run(
    trajectory_id: Annotated[str, typer.Argument(metavar="ID", help="Trajectory id or trace id.")],
    whole: Annotated[bool, typer.Option("--whole", help="Show every step of a long run.")] = False,
    output: options.Format = "text",
    api: options.Api = options.API,
) -> None:
    """Show one run: what went wrong, what it cost, and every step with the finding beside it."""
    from trailhound.client import Client

    answer(Client(api).trajectory(trajectory_id), output, "run.show_whole_run" if whole else "run.show_run")
