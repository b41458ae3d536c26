"""What was understood of each dialect as text."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from trailhound.show.text import plain


def show_dialects(console: Console, document: dict[str, Any]) -> None:
    """A line for each dialect, and one for each attribute that is not understood."""
    if not document["dialects"]:
        console.print(Text("no spans"))
    for name, coverage in document["dialects"].items():
        kinds = ", ".join(f"{kind} {count}" for kind, count in coverage["steps"].items())
        console.print(Text(name, style="bold cyan").append(f"  {coverage['spans']} spans: {kinds}", style="default"))
        if coverage["unknown_attributes"]:
            console.print(Text(f"  {coverage['unknown_attributes']} attributes not understood, most frequent first:"))
        for unknown in coverage["unknown"]:
            console.print(Text(f"  {unknown['count']:>8}  {plain(unknown['attribute'])}", style="dim"))
