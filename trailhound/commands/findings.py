"""`trailhound findings`: what the rules say about the runs that a daemon has seen."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from trailhound import options


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        help="What the rules found in the runs of a running daemon: list, show one.", no_args_is_help=True
    )
    group.command("list")(list_findings)
    group.command("show")(show_finding)
    app.add_typer(group, name="findings")


def list_findings(
    rule: Annotated[
        str | None, typer.Option("--rule", help="Only of this rule (`trailhound rules` lists them).", metavar="ID")
    ] = None,
    severity: Annotated[
        Literal["info", "warning", "critical"] | None, typer.Option("--severity", help="Only of this severity.")
    ] = None,
    state: Annotated[
        Literal["pending", "firing", "resolved"] | None, typer.Option("--state", help="Only in this state.")
    ] = None,
    service: options.Service = None,
    agent: options.Agent = None,
    session: options.Session = None,
    since: options.Since = None,
    until: options.Until = None,
    limit: options.Limit = options.LIMIT,
    output: options.Format = "text",
    api: options.Api = options.API,
) -> None:
    """List findings, newest first."""
    from trailhound.client import Client

    filters = {
        "rule": rule,
        "severity": severity,
        "state": state,
        "service": service,
        "agent": agent,
        "session_id": session,
        "since": since,
        "until": until,
    }
    client = Client(api)
    findings = list(client.items("findings", limit, filters))
    options.note_partial(client.partial)
    if output == "json":
        options.print_json({"items": findings})
        return
    from trailhound.show.findings import show_findings
    from trailhound.show.screen import screen

    show_findings(screen(), findings)


def show_finding(
    finding_id: Annotated[str, typer.Argument(metavar="ID", help="Finding id.")],
    output: options.Format = "text",
    api: options.Api = options.API,
) -> None:
    """Show one finding with its evidence and details."""
    from trailhound.client import Client

    finding = Client(api).item("findings", finding_id)
    if output == "json":
        options.print_json(finding)
        return
    from trailhound.show.findings import show_finding_alone
    from trailhound.show.screen import screen

    show_finding_alone(screen(), finding)
