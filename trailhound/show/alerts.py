"""Alerts and silences as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from trailhound.show.findings import style
from trailhound.show.screen import Column, table
from trailhound.show.text import count, moment, plain

COLUMNS = (
    Column("ALERT", most=32),
    Column("SEVERITY"),
    Column("STATE"),
    Column("RULE"),
    Column("AGENT", most=24),
    Column("SERVICE", most=24, wide=100),
    Column("FINDINGS", right=True),
    Column("SINCE", wide=90),
)
SILENCES = (
    Column("SILENCE", most=20),
    Column("RULES", most=24),
    Column("SERVICES", most=24),
    Column("AGENTS", most=24),
    Column("UNTIL"),
    Column("REASON", most=60, wide=100),
)


def show_alerts(console: Console, alerts: Sequence[dict[str, Any]]) -> None:
    """A table, newest first as given."""
    table(console, COLUMNS, [_row(alert) for alert in alerts])
    standing = sum(alert["state"] != "resolved" for alert in alerts)
    console.print(Text(f"{count(len(alerts), 'alert')}, {standing} standing", style="dim"))


def _row(alert: dict[str, Any]) -> list[Text]:
    return [
        Text(plain(alert["alert_id"]), style="bold"),
        Text(alert["severity"], style=style(alert)),
        Text(alert["state"]),
        Text(plain(alert["rule"])),
        Text(plain(alert["agent"] or "unknown", 80)),
        Text(plain(alert["service"], 80)),
        Text(str(alert["count"])),
        Text(moment(alert["starts_at"])),
    ]


def show_alert_alone(console: Console, alert: dict[str, Any]) -> None:
    """One alert, and the runs that it was seen in."""
    head = f"{alert['severity'].upper()} {plain(alert['rule'])} ({alert['state']})"
    console.print(Text(head, style=style(alert)).append(f"  {count(alert['count'], 'finding')}", style="dim"))
    console.print(Text(f"agent {plain(alert['agent'] or 'unknown')} of {plain(alert['service'])}"))
    ended = f" until {moment(alert['ends_at'])}" if alert["ends_at"] else ""
    console.print(Text(f"since {moment(alert['starts_at'])}{ended}"))
    for run in alert["examples"]:
        console.print(Text(f"  trailhound trajectories show {plain(run)}", style="dim"))


def show_silences(console: Console, found: Sequence[dict[str, Any]]) -> None:
    """A table of silences."""
    table(console, SILENCES, [_silence(silence) for silence in found])
    console.print(Text(count(len(found), "silence"), style="dim"))


def _silence(silence: dict[str, Any]) -> list[Text]:
    names = [Text(plain(", ".join(silence[key]), 80)) for key in ("rules", "services", "agents")]
    until = moment(silence["until"]) if silence["until"] else "for good"
    return [Text(plain(silence["silence_id"]), style="bold"), *names, Text(until), Text(plain(silence["reason"], 200))]
