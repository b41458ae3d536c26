"""`trailhound backtest`: what would these rules have said of stored history."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trailhound import options

if TYPE_CHECKING:
    from rich.console import Console

    from trailhound.backtesting import Backtest, History
    from trailhound.config import Config

LIMIT = 10_000
Rules = Annotated[
    Path,
    typer.Argument(metavar="RULES.yaml", help="Configuration whose sections (rules, tools, ...) replace today's."),
]
Paths = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[PATH]...", help="Recordings to judge instead of stored history.", show_default=False),
]
Today = Annotated[
    Path | None,
    typer.Option("--config", "-c", help="Configuration of today, as the daemon has it.", metavar="FILE"),
]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=1_000_000, help="At most so many runs, the newest.")]
Offline = Annotated[bool, typer.Option("--offline", help="Open the store of --config itself, when no daemon runs.")]


def register(app: typer.Typer) -> None:
    app.command("backtest")(backtest)


def backtest(
    rules: Rules,
    paths: Paths = None,
    config: Today = None,
    since: options.Since = "7d",
    until: options.Until = None,
    agent: options.Agent = None,
    service: options.Service = None,
    limit: Limit = LIMIT,
    offline: Offline = False,
    output: options.Format = "text",
    api: options.Api = options.API,
) -> None:
    """Try rules on the runs that a daemon has stored, or on recordings, against the rules of today.

    Both sets of rules judge the same spans and log records with the code that judges live traffic. For each rule: how often it would
    have fired, on which runs, with five examples, and what is new, gone and the same. Nothing is
    stored and nobody is alerted.
    """
    from trailhound.backtesting import Backtest, changed_by
    from trailhound.config import load

    today = load(config)
    test = Backtest(today, changed_by(today, rules))
    asked = {"since": since, "until": until, "agent": agent, "service": service}
    with _history(today, paths or [], offline, api, limit, asked) as history:
        if not len(history):
            typer.echo(_nothing(paths or [], asked), err=True)
        _judge(test, history)
    document = test.document()
    if output == "json":
        options.print_json(document)
        return
    from trailhound.show.backtest import show_backtest
    from trailhound.show.screen import screen

    show_backtest(screen(), document, "recorded request" if paths else "run")


def _nothing(paths: list[Path], asked: dict[str, str | None]) -> str:
    """Why there is nothing to judge, and what to do."""
    if paths:
        return f"trailhound: nothing to judge: {', '.join(map(str, paths))} holds no recorded request"
    given = " ".join(f"--{name} {value}" for name, value in asked.items() if value is not None)
    return f"trailhound: nothing to judge: no stored run fits {given}; `trailhound trajectories list` shows which there are"


@contextmanager
def _history(
    today: Config, paths: list[Path], offline: bool, api: str, limit: int, asked: dict[str, str | None]
) -> Iterator[History]:
    from trailhound import histories

    if paths:
        yield histories.FileHistory(paths, today.receive.max_request)
    elif offline:
        with histories.opened(today) as store:
            with _busy("listing the stored runs"):
                history = histories.StoreHistory(store, limit, asked)
            yield history
    else:
        from trailhound.client import Client

        client = Client(api)
        with _busy("listing the runs that the daemon has stored"):
            runs = histories.DaemonHistory(client, limit, asked)
        yield runs
        options.note_partial(client.partial)


def _busy(what: str) -> AbstractContextManager[object]:
    """Says on stderr, where someone is looking, what takes a moment."""
    return _console().status(what) if _console().is_terminal else nullcontext()


def _console() -> Console:
    from rich.console import Console

    return Console(stderr=True)


def _judge(test: Backtest, history: History) -> None:
    """Judge all of it, with a bar on stderr where someone is looking."""
    from rich.progress import track

    console = _console()
    pieces = track(
        history.pieces(), "judging", len(history), console=console, disable=not console.is_terminal, transient=True
    )
    for piece in pieces:
        test.take(piece)
