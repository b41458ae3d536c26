"""`trailhound trajectories`: the runs that a daemon has seen."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from trailhound import options

Status = Literal["open", "waiting", "completed", "failed", "unfinished"]


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        help="Runs of agents that a running daemon has seen: list them, show one.", no_args_is_help=True
    )
    group.command("list")(list_runs)
    group.command("show")(show_run)
    app.add_typer(group, name="trajectories")


def list_runs(
    status: Annotated[Status | None, typer.Option("--status", help="Only runs with this status.")] = None,
    service: options.Service = None,
    agent: options.Agent = None,
    session: options.Session = None,
    since: options.Since = None,
    until: options.Until = None,
    limit: options.Limit = options.LIMIT,
    output: options.Format = "text",
    api: options.Api = options.API,
) -> None:
    """List runs, newest first, with what went wrong under each."""
    from trailhound.client import Client

    filters = {
        "status": status,
        "service": service,
        "agent": agent,
        "session_id": session,
        "since": since,
        "until": until,
    }
    client = Client(api)
    runs = list(client.items("trajectories", limit, filters))
    options.note_partial(client.partial)
    if output == "json":
        options.print_json({"items": runs})
        return
    from trailhound.show.runs import show_runs
    from trailhound.show.screen import screen

    show_runs(screen(), runs)


def show_run(
    trajectory_id: Annotated[str, typer.Argument(metavar="ID", help="Trajectory id or trace id.")],
    whole: Annotated[bool, typer.Option("--whole", help="Show every step of a long run.")] = False,
    output: options.Format = "text",
    api: options.Api = options.API,
) -> None:
    """Show one run: what went wrong, what it cost, and every step with the finding beside it."""
    from trailhound.client import Client

    run = Client(api).trajectory(trajectory_id)
    if output == "json":
        options.print_json(run)
        return
    from trailhound.show.run import show_run as show
    from trailhound.show.screen import screen

    show(screen(), run, whole=whole)
