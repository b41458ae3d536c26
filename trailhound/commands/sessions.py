"""`trailhound sessions`: conversations, each of one or many runs."""

from __future__ import annotations

from typing import Annotated

import typer

from trailhound import options
from trailhound.errors import Invalid


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Conversations that a running daemon has seen: list them, show one.", no_args_is_help=True)
    group.command("list")(list_sessions)
    group.command("show")(show_session)
    app.add_typer(group, name="sessions")


def list_sessions(
    service: options.Service = None,
    agent: options.Agent = None,
    since: options.Since = None,
    until: options.Until = None,
    limit: options.Limit = options.LIMIT,
    output: options.Format = "text",
    api: options.Api = options.API,
) -> None:
    """List sessions with their totals, newest first."""
    from trailhound.client import Client

    filters = {"service": service, "agent": agent, "since": since, "until": until}
    client = Client(api)
    sessions = list(client.items("sessions", limit, filters))
    options.note_partial(client.partial)
    if output == "json":
        options.print_json({"items": sessions})
        return
    from trailhound.show.screen import screen
    from trailhound.show.sessions import show_sessions

    show_sessions(screen(), sessions)


def show_session(
    session_id: Annotated[str, typer.Argument(metavar="ID", help="Session id.")],
    output: options.Format = "text",
    api: options.Api = options.API,
) -> None:
    """Show the runs of one session and what was found over all of them."""
    from trailhound.client import Client

    client, only = Client(api), {"session_id": session_id}
    runs = sorted(client.items("trajectories", 1000, only), key=lambda run: run["started_at"] or "")
    if not runs:
        raise Invalid(f"no session {session_id} is known to the daemon at {client.url}", reason="not_found")
    findings = list(client.items("findings", 1000, {**only, "scope": "session"}))
    if output == "json":
        options.print_json({"session_id": session_id, "trajectories": runs, "findings": findings})
        return
    from trailhound.show.screen import screen
    from trailhound.show.sessions import show_session as show

    show(screen(), session_id, runs, findings)
