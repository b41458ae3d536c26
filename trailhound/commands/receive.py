"""`trailhound receive`: the receiver of the daemon alone."""

from __future__ import annotations

import typer

from trailhound.commands.serve import ConfigFile, DataDir, run


def register(app: typer.Typer) -> None:
    app.command("receive")(receive)


def receive(config: ConfigFile = None, data: DataDir = None) -> None:
    """Receive OTLP and write the journal: one half of `serve`, beside a `trailhound monitor` on the same data folder.

    OTLP/gRPC on 4317, OTLP/HTTP on 4318 with `GET /healthz`, on loopback unless configured otherwise. Acknowledges what
    is on disk, whether a monitor runs or not. Prints `ready grpc=HOST:PORT http=HOST:PORT` when it accepts; stops on
    SIGTERM or Ctrl-C.
    """
    run(config, data, "receiver")
