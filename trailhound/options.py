"""Options that several commands share, each documented once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

Format = Annotated[
    Literal["text", "json"], typer.Option("--format", "-f", help="`text` for people, `json` for programs.")
]
Api = Annotated[str, typer.Option("--api", envvar="TRAILHOUND_API", help="Address of the daemon's API.", metavar="URL")]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=100_000, help="Show at most so many, newest first.")]
Since = Annotated[
    str | None,
    typer.Option("--since", help="Only from then on: an age like 2h or 7d, or an RFC 3339 time.", metavar="TIME"),
]
Until = Annotated[
    str | None, typer.Option("--until", help="Only before then: an age or an RFC 3339 time.", metavar="TIME")
]
Service = Annotated[str | None, typer.Option("--service", help="Only of this service.", metavar="NAME")]
Agent = Annotated[str | None, typer.Option("--agent", help="Only of this agent.", metavar="NAME")]
Session = Annotated[str | None, typer.Option("--session", help="Only of this session.", metavar="ID")]
Rule = Annotated[
    str | None, typer.Option("--rule", help="Only of this rule (`trailhound rules` lists them).", metavar="ID")
]
Severity = Annotated[
    Literal["info", "warning", "critical"] | None, typer.Option("--severity", help="Only of this severity.")
]
State = Annotated[Literal["pending", "firing", "resolved"] | None, typer.Option("--state", help="Only in this state.")]
ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", "-c", help="Configuration file; without it the defaults hold.", metavar="FILE"),
]

API = "http://127.0.0.1:4320"
"""Where a daemon with the default configuration answers."""
LIMIT = 50


def note(text: str) -> None:
    """One line on stderr: about what was given, not part of the answer."""
    import sys

    from trailhound.show.text import plain

    print(f"trailhound: {plain(text)}", file=sys.stderr)


def note_partial(reason: str | None) -> None:
    """Say that a list is not complete, in the daemon's words; nothing for None."""
    if reason is not None:
        note(f"the list is not complete: {reason}")


def print_json(value: Any) -> None:
    """One JSON document on stdout, indented for a person on a terminal, on one line in a pipe."""
    import sys

    import orjson

    style = orjson.OPT_INDENT_2 if sys.stdout.isatty() else 0
    sys.stdout.write(orjson.dumps(value, option=style | orjson.OPT_NON_STR_KEYS).decode() + "\n")
