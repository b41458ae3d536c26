"""`trailhound alerts`: what a running daemon alerts about, and what it is silent about."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from trailhound import options

Names = Annotated[
    list[str] | None, typer.Option("--rule", help="Rules to silence (globs); repeat for several.", metavar="GLOB")
]


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        help="Alerts of a running daemon: list, show one, silence what is expected.", no_args_is_help=True
    )
    group.command("list")(list_alerts)
    group.command("show")(show_alert)
    group.command("silence")(silence)
    group.command("silences")(silences)
    group.command("unsilence")(unsilence)
    app.add_typer(group, name="alerts")


def list_alerts(
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
    since: options.Since = None,
    until: options.Until = None,
    limit: options.Limit = options.LIMIT,
    output: options.Format = "text",
    api: options.Api = options.API,
) -> None:
    """List alerts, newest first."""
    from trailhound.client import Client

    asked = {"rule": rule, "severity": severity, "state": state, "service": service, "agent": agent}
    alerts = list(Client(api).items("alerts", limit, asked | {"since": since, "until": until}))
    if output == "json":
        options.print_json({"items": alerts})
        return
    from trailhound.show.alerts import show_alerts
    from trailhound.show.screen import screen

    show_alerts(screen(), alerts)


def show_alert(
    alert_id: Annotated[str, typer.Argument(metavar="ID", help="Alert id.")],
    output: options.Format = "text",
    api: options.Api = options.API,
) -> None:
    """Show one alert with examples of its runs."""
    from trailhound.client import Client

    alert = Client(api).item("alerts", alert_id)
    if output == "json":
        options.print_json(alert)
        return
    from trailhound.show.alerts import show_alert_alone
    from trailhound.show.screen import screen

    show_alert_alone(screen(), alert)


def silence(
    lasting: Annotated[str, typer.Option("--for", help="For how long: 30m, 2h, 7d.", metavar="TIME")],
    rule: Names = None,
    service: Annotated[
        list[str] | None,
        typer.Option("--service", help="Services to silence (globs); repeat for several.", metavar="GLOB"),
    ] = None,
    agent: Annotated[
        list[str] | None, typer.Option("--agent", help="Agents to silence (globs); repeat for several.", metavar="GLOB")
    ] = None,
    reason: Annotated[str, typer.Option("--reason", help="Why, for those who ask later.")] = "",
    output: options.Format = "text",
    api: options.Api = options.API,
) -> None:
    """Do not tell of matching alerts for a time; without any name, of none at all. Alerts are still kept and shown."""
    from trailhound.client import Client
    from trailhound.clock import SystemClock, rfc3339
    from trailhound.errors import Invalid
    from trailhound.notation import parse_duration

    try:
        seconds = float(parse_duration(lasting))
    except ValueError as error:
        raise Invalid(f"--for: {error}", reason="usage") from None
    until = rfc3339(SystemClock().now_ns() + int(seconds * 1e9))
    names = {"rules": rule, "services": service, "agents": agent}
    wanted = {"until": until, "reason": reason} | {key: value for key, value in names.items() if value}
    made = Client(api).send("POST", "/api/v1/silences", wanted, what="silence", has=("silence_id",))
    _print([made], output)


def silences(output: options.Format = "text", api: options.Api = options.API) -> None:
    """List what is not told now or later, the planned maintenance of the configuration included."""
    from trailhound.client import Client

    _print(Client(api).get("/api/v1/silences", has=("items",))["items"], output)


def unsilence(
    silence_id: Annotated[str, typer.Argument(metavar="ID", help="Silence id, see `trailhound alerts silences`.")],
    output: options.Format = "text",
    api: options.Api = options.API,
) -> None:
    """End a silence, and list those that are left."""
    from urllib.parse import quote

    from trailhound.client import Client

    path = f"/api/v1/silences/{quote(silence_id, safe='')}"
    left = Client(api).send("DELETE", path, None, what=f"silence {silence_id}", has=("items",))
    _print(left["items"], output)


def _print(found: list[dict[str, Any]], output: str) -> None:
    if output == "json":
        options.print_json({"items": found})
        return
    from trailhound.show.alerts import show_silences
    from trailhound.show.screen import screen

    show_silences(screen(), found)
