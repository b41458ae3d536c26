"""`trailhound monitor`: the monitor of the daemon alone."""

from __future__ import annotations

import typer

from trailhound.commands.serve import ConfigFile, DataDir, run


def register(app: typer.Typer) -> None:
    app.command("monitor")(monitor)


def monitor(config: ConfigFile = None, data: DataDir = None) -> None:
    """Judge, store and show what the journal holds: one half of `serve`, beside a `trailhound receive` on the same data folder.

    API and /metrics on 4320, on loopback unless configured otherwise. After a crash it goes on where it was. Prints
    `ready api=HOST:PORT` when it accepts; stops on SIGTERM or Ctrl-C.
    """
    run(config, data, "monitor")
