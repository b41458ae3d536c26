"""`trailhound sessions`: conversations, each of one or many runs."""

from __future__ import annotations

from typing import Annotated

import typer

from trailhound import options
from trailhound.asking import WHEN, WHO, answer, group, listing
from trailhound.errors import Invalid


def register(app: typer.Typer) -> None:
    help = "List sessions with their totals, newest first."
    commands = {"list": listing("sessions", help, {**WHO, **WHEN}, "sessions.show_sessions"), "show": show_session}
    group(app, "sessions", "Conversations that a running daemon has seen: list them, show one.", commands)


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
    session = {"session_id": session_id, "trajectories": runs, "findings": findings}
    answer(session, output, "sessions.show_session")
