"""`trailhound baseline`: what a running daemon takes for normal, and pinning it."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

import typer

from trailhound import options

Id = Annotated[str, typer.Argument(metavar="ID", help="Baseline id, see `trailhound baseline list`.")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        help="What runs of an agent and task normally need: list, show one, pin it, unpin it.", no_args_is_help=True
    )
    group.command("list")(list_baselines)
    group.command("show")(show_one)
    group.command("pin")(pin)
    group.command("unpin")(unpin)
    app.add_typer(group, name="baseline")


def list_baselines(
    service: options.Service = None,
    agent: options.Agent = None,
    task: Annotated[
        str | None, typer.Option("--task", help="Only of this task label (`runs.task`).", metavar="NAME")
    ] = None,
    limit: options.Limit = options.LIMIT,
    output: options.Format = "text",
    api: options.Api = options.API,
) -> None:
    """List baselines, those with the latest runs first."""
    from trailhound.client import Client

    found = list(Client(api).items("baselines", limit, {"service": service, "agent": agent, "task": task}))
    if output == "json":
        options.print_json({"items": found})
        return
    from trailhound.show.baselines import show_baselines
    from trailhound.show.screen import screen

    show_baselines(screen(), found)


def show_one(baseline_id: Id, output: options.Format = "text", api: options.Api = options.API) -> None:
    """Show what is normal, metric by metric."""
    from trailhound.client import Client

    _print(Client(api).item("baselines", baseline_id), output)


def pin(
    baseline_id: Id,
    reason: Annotated[str, typer.Option("--reason", help="Why, for those who ask later.")] = "",
    output: options.Format = "text",
    api: options.Api = options.API,
) -> None:
    """Pin what is normal now: runs that end from here on are compared with it until it is unpinned."""
    _change("POST", baseline_id, {"reason": reason}, output, api)


def unpin(baseline_id: Id, output: options.Format = "text", api: options.Api = options.API) -> None:
    """Compare with the latest runs again."""
    _change("DELETE", baseline_id, None, output, api)


def _change(method: str, baseline_id: str, content: dict[str, Any] | None, output: str, api: str) -> None:
    from trailhound.client import Client

    path = f"/api/v1/baselines/{quote(baseline_id, safe='')}/pin"
    _print(Client(api).send(method, path, content, what=f"baseline {baseline_id}", has=("baseline_id",)), output)


def _print(baseline: dict[str, Any], output: str) -> None:
    if output == "json":
        options.print_json(baseline)
        return
    from trailhound.show.baselines import show_baseline
    from trailhound.show.screen import screen

    show_baseline(screen(), baseline)
