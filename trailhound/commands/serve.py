"""`trailhound serve`: the daemon."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from trailhound.daemon import Role

ConfigFile = Annotated[
    Path | None, typer.Option("--config", "-c", help="Configuration file; defaults without one.", metavar="FILE")
]
DataDir = Annotated[
    Path | None, typer.Option("--data", help="Folder for journal and store; wins over `data_dir`.", metavar="DIR")
]


def register(app: typer.Typer) -> None:
    app.command("serve")(serve)


def serve(config: ConfigFile = None, data: DataDir = None) -> None:
    """Receive OTLP, watch every run, and answer over HTTP: the daemon.

    OTLP/gRPC on 4317, OTLP/HTTP on 4318, API and /metrics on 4320, all on loopback unless configured otherwise.
    Prints `ready grpc=HOST:PORT http=HOST:PORT api=HOST:PORT` when it accepts; stops on SIGTERM or Ctrl-C.
    """
    run(config, data)


def run(config: Path | None, data: Path | None, role: Role | None = None) -> None:
    """Run the daemon, or one role of it, and end with its exit status."""
    from trailhound.config import load
    from trailhound.daemon import serve as run_daemon

    settings = load(config)
    if data is not None:
        settings.data_dir = data
    raise typer.Exit(run_daemon(settings, role))
