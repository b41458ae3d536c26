"""`trailhound send`: recorded OTLP bodies to a daemon or a Collector, as they were recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trailhound.errors import Invalid

DEFAULT_ENDPOINT = "http://127.0.0.1:4318"
MAX_BODY = 64 * 2**20


def register(app: typer.Typer) -> None:
    app.command("send")(send)


def send(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Recordings, or folders of them, sent in name order.")
    ],
    endpoint: Annotated[
        str,
        typer.Option(
            "--endpoint", "-e", metavar="URL", help="http://HOST:PORT, https://HOST:PORT or grpc://HOST:PORT."
        ),
    ] = DEFAULT_ENDPOINT,
    rate: Annotated[
        float | None, typer.Option("--rate", min=0.001, metavar="N", help="At most N requests a second.")
    ] = None,
) -> None:
    """Send recorded OTLP to a daemon or a Collector.

    Every body goes out as it was recorded: protobuf or JSON, compressed or not. A server that asks to wait is waited
    for (a minute at most). Says what was accepted; exit code 1 when something was refused.
    """
    from trailhound.clock import SystemClock
    from trailhound.recordings import Body, files, read
    from trailhound.sending import Tally, connect

    found = [file for path in paths for file in files(path)]
    tally = Tally()
    with connect(endpoint, SystemClock(), rate) as sender:
        for file in found:
            for item in read(file, MAX_BODY):
                if not isinstance(item, Body):
                    tally.skip(item)
                    continue
                tally.count(item, sender.send(item))
    typer.echo(tally.summary(endpoint))
    if not tally.requests:
        raise Invalid("no recording was found in what was given", reason="usage")
    raise typer.Exit(tally.exit_code)
