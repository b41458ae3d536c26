"""`trailhound check`: judge recorded OTLP offline."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from trailhound import options

if TYPE_CHECKING:
    from trailhound.checking import Judged

Output = Annotated[
    Literal["text", "json", "jsonl"],
    typer.Option("--format", "-f", help="`text` for people; `json`, or `jsonl` for one object a line, for programs."),
]


def register(app: typer.Typer) -> None:
    app.command("check")(check)


def check(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH...", help="OTLP files (.pb, .logs.pb, .json, .jsonl; .gz, .zst) or folders."),
    ],
    config: options.ConfigFile = None,
    output: Output = "text",
    each: Annotated[
        bool, typer.Option("--each", help="Every PATH is a recording of its own, with an answer of its own.")
    ] = False,
    steps: Annotated[bool, typer.Option("--steps", help="In text: every run with its steps, not only a list.")] = False,
) -> None:
    """Judge recorded OTLP files with the rules that judge live traffic.

    Files are read in name order; the end of the input counts as idle time passed. Files that are no OTLP are skipped
    with a note. Exit code 1 when a finding that still stands is a warning or critical.
    """
    from trailhound import garbage
    from trailhound.checking import judge
    from trailhound.config import load
    from trailhound.errors import Invalid

    settings = load(config)
    missing = next((path for path in paths if not path.exists()), None)
    if missing is not None:
        raise Invalid(f"{missing}: no such file or folder", reason="usage")
    garbage.seldom()
    alarming = False
    for group in [[path] for path in paths] if each else [paths]:
        judged = judge(group, settings, options.note)
        alarming = alarming or judged.alarming
        _print(judged, group[0] if each else None, output, steps=steps)
    raise typer.Exit(1 if alarming else 0)


def _print(judged: Judged, path: Path | None, output: str, *, steps: bool) -> None:
    if output == "text":
        from trailhound.show.check import show_check
        from trailhound.show.screen import screen

        show_check(screen(), judged.document(), path, steps=steps)
        return
    document = judged.document()
    if path is not None:
        document = {"path": str(path), **document}
    if output == "json" and path is None:
        options.print_json(document)
        return
    import orjson

    sys.stdout.write(orjson.dumps(document).decode() + "\n")
