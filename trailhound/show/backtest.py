"""The answer of `trailhound backtest` as text."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from trailhound.show.screen import STYLES
from trailhound.show.text import count, plain


def show_backtest(console: Console, document: dict[str, Any], noun: str = "run") -> None:
    """A line for each rule that spoke in either set, and its examples below; `noun` names what was judged."""
    spoke = [rule for rule in document["rules"] if rule["fired"] or rule["fired_today"]]
    silent = [rule["rule"] for rule in document["rules"] if rule not in spoke]
    if spoke:
        console.print(_table(spoke))
    for rule in spoke:
        for example in (*rule["examples"], *rule["gone_examples"]):
            console.print(_example(rule["rule"], example), soft_wrap=True)
    if silent and document["judged"]:
        console.print(Text(f"never: {', '.join(plain(rule, 40) for rule in silent)}", style="dim"))
    lost = f", {document['unreadable']} could not be read" if document["unreadable"] else ""
    console.print(Text(f"{count(document['judged'], noun)} judged{lost}", style="dim"))


def _table(rules: list[dict[str, Any]]) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for column in ("rule", "fired", "today", "new", "gone", "same", "runs"):
        grid.add_column(justify="left" if column == "rule" else "right")
    grid.add_row(*(Text(word, style="dim") for word in ("RULE", "FIRED", "TODAY", "NEW", "GONE", "SAME", "RUNS")))
    for rule in rules:
        numbers = (rule[key] for key in ("fired", "fired_today", "new", "gone", "same"))
        grid.add_row(Text(rule["rule"], style="bold"), *map(str, numbers), str(len(rule["runs"])))
    return grid


def _example(rule: str, example: dict[str, Any]) -> Text:
    where = example["trajectory_id"] or example["session_id"] or example["agent"] or ""
    text = Text(f"  {example['change']:4} ", style="bold green" if example["change"] == "new" else "dim")
    text.append(f"{example['severity'].upper()} {plain(rule, 40)} ", style=STYLES[example["severity"]])
    return text.append(plain(example["summary"]), style="none").append(f"  {plain(where, 64)}", style="dim")
