"""Where text goes: a console that is colourful on a terminal, plain and of fixed width anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, cast

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from trailhound.show.text import ELLIPSIS

PIPE_WIDTH = 160
"""Columns when stdout is no terminal, so that output in a file or a pipe does not depend on the window."""

STYLES = {
    "critical": "bold red",
    "warning": "bold yellow",
    "info": "cyan",
    "failed": "bold red",
    "unfinished": "bold magenta",
    "waiting": "bold blue",
    "open": "bold cyan",
    "completed": "green",
    "resolved": "dim",
}
GLYPHS = {"completed": "✓", "failed": "✗", "unfinished": "◌", "waiting": "⏸", "open": "▶"}
RANK = {"critical": 0, "warning": 1, "info": 2}


def screen() -> Console:
    """A console for stdout that interprets no markup and no emoji codes in what it prints."""
    terminal = sys.stdout.isatty()
    return Console(
        file=sys.stdout if terminal else cast(IO[str], Trimmed(sys.stdout)),
        width=None if terminal else PIPE_WIDTH,
        color_system="auto" if terminal else None,
        force_terminal=terminal,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
    )


class Trimmed:
    """A stream that leaves out spaces at the end of lines, which columns bring."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write("\n".join(line.rstrip(" ") for line in text.split("\n")))
        return len(text)

    def flush(self) -> None:
        self._stream.flush()


@dataclass(frozen=True)
class Column:
    """One column of a list: `wide` is its least window width, `right` aligns numbers, `most` cuts long words."""

    title: str
    right: bool = False
    wide: int = 0
    most: int = 0


def fitting(columns: Sequence[Column], width: int) -> list[int]:
    """Indexes of the columns that a window of this width has room for."""
    return [index for index, column in enumerate(columns) if width >= column.wide]


def widths(columns: Sequence[Column], rows: Sequence[Sequence[Text]]) -> list[int]:
    """How wide each column must be for its title and its cells."""
    found = [
        max([cell_len(column.title), *(cell_len(row[i].plain) for row in rows)]) for i, column in enumerate(columns)
    ]
    return [min(have, column.most) if column.most else have for have, column in zip(found, columns, strict=True)]


def line(cells: Sequence[Text], columns: Sequence[Column], wide: Sequence[int], shown: Sequence[int]) -> Text:
    """One aligned row."""
    row = Text(no_wrap=True, overflow="ellipsis")
    for place, index in enumerate(shown):
        if place:
            row.append("  ")
        last = place == len(shown) - 1 and not columns[index].right
        row.append_text(padded(cells[index], wide[index], right=columns[index].right, last=last))
    return row


def padded(cell: Text, width: int, *, right: bool, last: bool) -> Text:
    """`cell` cut or filled to `width` screen columns; the last cell of a row gets no trailing spaces."""
    cell = cut(cell, width)
    room = width - cell_len(cell.plain)
    if right:
        return Text(" " * room).append_text(cell)
    return cell if last else cell.append(" " * room)


def cut(cell: Text, width: int) -> Text:
    """`cell` on at most `width` screen columns."""
    if cell_len(cell.plain) <= width:
        return cell.copy()
    return Text(set_cell_size(cell.plain, max(0, width - 1)).rstrip() + ELLIPSIS, style=cell.style)


def header(columns: Sequence[Column]) -> list[Text]:
    return [Text(column.title, style="dim") for column in columns]


def table(console: Console, columns: Sequence[Column], rows: Sequence[Sequence[Text]]) -> None:
    """The rows below the titles of the columns, as far as the window has room; nothing without rows."""
    wide, shown = widths(columns, rows), fitting(columns, console.width)
    for row in ([header(columns)] if rows else []) + [list(row) for row in rows]:
        console.print(line(row, columns, wide, shown), no_wrap=True, overflow="ellipsis")
