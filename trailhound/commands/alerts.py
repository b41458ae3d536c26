"""`trailhound alerts`: what a running daemon alerts about, and what it is silent about."""

from __future__ import annotations

from typing import Annotated

import typer

from trailhound import options
from trailhound.asking import JUDGED, WHEN, WHO, Command, answer, group, listing, single

Names = Annotated[
    list[str] | None, typer.Option("--rule", help="Rules to silence (globs); repeat for several.", metavar="GLOB")
]
SHOW = "alerts.show_silences"


def register(app: typer.Typer) -> None:
    filters = {**JUDGED, **WHO, **WHEN}
    help = "Show one alert with examples of its runs."
    commands: dict[str, Command] = {
        "list": listing("alerts", "List alerts, newest first.", filters, "alerts.show_alerts"),
        "show": single("alerts", help, "Alert id.", "alerts.show_alert_alone"),
        "silence": silence,
        "silences": silences,
        "unsilence": unsilence,
    }
    group(app, "alerts", "Alerts of a running daemon: list, show one, silence what is expected.", commands)


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
    answer([made], output, SHOW)


def silences(output: options.Format = "text", api: options.Api = options.API) -> None:
    """List what is not told now or later, the planned maintenance of the configuration included."""
    from trailhound.client import Client

    answer(Client(api).get("/api/v1/silences", has=("items",))["items"], output, SHOW)


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
    answer(left["items"], output, SHOW)
