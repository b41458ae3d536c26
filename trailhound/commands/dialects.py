"""`trailhound dialects`: what is understood of recorded OTLP, dialect by dialect."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trailhound import options


def register(app: typer.Typer) -> None:
    app.command("dialects")(dialects)


def dialects(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH...", help="OTLP files (.pb, .json, .jsonl; .gz, .zst) or folders."),
    ],
    config: options.ConfigFile = None,
    output: options.Format = "text",
) -> None:
    """Print for each dialect in recorded traces: spans understood, steps by kind, attributes not understood.

    An attribute is not understood when it is in a dialect's own name space and no reader knows it. A span written in
    two dialects counts for both.
    """
    from trailhound.config import load
    from trailhound.coverage import cover
    from trailhound.errors import Invalid

    missing = next((path for path in paths if not path.exists()), None)
    if missing is not None:
        raise Invalid(f"{missing}: no such file or folder", reason="usage")
    document = cover(paths, load(config).receive.max_request, options.note).document()
    if output == "json":
        options.print_json(document)
        return
    from trailhound.show.dialects import show_dialects
    from trailhound.show.screen import screen

    show_dialects(screen(), document)
