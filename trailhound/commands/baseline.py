"""`trailhound baseline`: what a running daemon takes for normal, and pinning it."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

import typer

from trailhound import options
from trailhound.asking import WHO, Command, answer, group, listing, single

ID_HELP = "Baseline id, see `trailhound baseline list`."
Id = Annotated[str, typer.Argument(metavar="ID", help=ID_HELP)]
Task = Annotated[str | None, typer.Option("--task", help="Only of this task label (`runs.task`).", metavar="NAME")]
SHOW = "baselines.show_baseline"
TOUCHED = (
    "Runs in memory that this concerns are judged anew; findings of runs that have left it stay as they were told."
)


def register(app: typer.Typer) -> None:
    filters, help = {**WHO, "task": Task}, "List baselines, those with the latest runs first."
    commands: dict[str, Command] = {
        "list": listing("baselines", help, filters, "baselines.show_baselines"),
        "show": single("baselines", "Show what is normal, metric by metric.", ID_HELP, SHOW),
        "pin": pin,
        "unpin": unpin,
    }
    group(app, "baseline", "What runs of an agent and task normally need: list, show one, pin it, unpin it.", commands)


def pin(
    baseline_id: Id,
    reason: Annotated[str, typer.Option("--reason", help="Why, for those who ask later.")] = "",
    output: options.Format = "text",
    api: options.Api = options.API,
) -> None:
    """Pin what is normal now: runs that end from here on are compared with it until it is unpinned.

    Of runs that ended after the latest one known, those in the daemon's memory are judged anew. What was told of runs
    that have left it stays as it was told.
    """
    _change("POST", baseline_id, {"reason": reason}, output, api)


def unpin(baseline_id: Id, output: options.Format = "text", api: options.Api = options.API) -> None:
    """Compare with the latest runs again.

    Of the runs that were compared with the pinned values, those in the daemon's memory are judged anew. What was told
    of runs that have left it stays as it was told.
    """
    _change("DELETE", baseline_id, None, output, api)


def _change(method: str, baseline_id: str, content: dict[str, Any] | None, output: str, api: str) -> None:
    from trailhound.client import Client

    path = f"/api/v1/baselines/{quote(baseline_id, safe='')}/pin"
    changed = Client(api).send(method, path, content, what=f"baseline {baseline_id}", has=("baseline_id",))
    answer(changed, output, SHOW)
    if output == "text":
        typer.echo(TOUCHED, err=True)
