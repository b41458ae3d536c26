"""Rules and their settings as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from trailhound.evaluators.registry import RuleDescription


def show_rules(console: Console, rules: Sequence[RuleDescription]) -> None:
    """Each rule: its id, its documentation, its settings with their defaults."""
    for rule in rules:
        over = "" if rule.scopes == ("trajectory",) else f"  judges per {', '.join(rule.scopes)}"
        console.print(Text(rule.rule, style="bold cyan").append(over, style="dim"))
        console.print(Padding(Text(rule.documentation), (0, 0, 0, 2)))
        console.print(Padding(_settings(rule), (1, 0, 1, 2)))


def _settings(rule: RuleDescription) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column(overflow="fold")
    for name, schema in rule.settings.get("properties", {}).items():
        grid.add_row(
            Text(f"rules.{rule.rule}.{name}", style="green"),
            Text(_default(schema)),
            Text(schema.get("description", "")),
        )
    return grid


def _default(schema: dict[str, Any]) -> str:
    if "default" not in schema:
        return "required"
    given = schema["default"]
    if isinstance(given, dict):  # a section: what is set in it, which is short
        given = {key: value for key, value in given.items() if value is not None}
    return orjson.dumps(given).decode()
