"""One module for each kind of generated page, and what they share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

NOTE = "<!-- Made from the code by `make docs`; change it there. -->\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A markdown table; the cells' `|` are escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def code(text: str) -> str:
    return f"`{text}`"
