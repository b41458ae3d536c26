"""`trailhound promote` and `promote-trace`: a production run becomes a test case."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trailhound import options

if TYPE_CHECKING:
    from trailhound.client import Client
    from trailhound.evaluators.testset.promote import Promoted

EARLIER = 20
"""Runs of the same session that are kept as context at most."""


def register(app: typer.Typer) -> None:
    app.command("promote")(promote)


def promote(
    trajectory_id: Annotated[str, typer.Argument(metavar="ID", help="Trajectory id or trace id of the run.")],
    into: Annotated[Path, typer.Option("--into", metavar="DIR", help="Folder of the cases; made if need be.")] = Path(
        "cases"
    ),
    config: options.ConfigFile = None,
    by: Annotated[
        str | None, typer.Option("--by", metavar="NAME", help="Who promotes it; the user's name without it.")
    ] = None,
    output: options.Format = "text",
    api: options.Api = options.API,
) -> None:
    """Turn a run into a test case: its input, its steps, the contract that it broke, and what is not known.

    Works for failed, looping, unfinished and still open runs alike. The case is proved: judged by its own contract, the
    recorded run must fail. The same run twice makes no second file. Exit code 1 for an unknown id.
    """
    from trailhound.client import Client
    from trailhound.clock import SystemClock, rfc3339
    from trailhound.config import load
    from trailhound.evaluators.testset.folder import CaseFolder
    from trailhound.evaluators.testset.promote import build_case, put_case

    client = Client(api)
    run = client.trajectory(trajectory_id)
    case = build_case(
        run,
        earlier=_earlier(client, run),
        tools=load(config).tools,
        promoted_by=by or _user(),
        promoted_at=rfc3339(SystemClock().now_ns()),
    )
    with CaseFolder(into) as folder:
        promoted = put_case(folder, case)
    if output == "json":
        options.print_json(_document(into, promoted))
    else:
        _print(into, promoted)


def _earlier(client: Client, run: dict[str, Any]) -> list[dict[str, Any]]:
    """The runs of the same session that began before this one, oldest first."""
    if not run["session_id"] or not run["started_at"]:
        return []
    asked = {"session_id": run["session_id"], "tenant": run["tenant"], "until": run["started_at"]}
    before = [r for r in client.items("trajectories", EARLIER, asked) if r["trajectory_id"] != run["trajectory_id"]]
    return before[::-1]


def _user() -> str | None:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):  # no name for this user id, as in many containers
        return None


def _document(into: Path, promoted: Promoted) -> dict[str, Any]:
    case = promoted.case
    return {
        "path": str(into / promoted.name),
        "written": promoted.written,
        "case_id": promoted.name.removesuffix(".yaml"),
        "fails_on_its_own_trajectory": case.proof is not None and case.proof.fails,
        "breaches": case.proof.breaches if case.proof is not None else [],
        "unknowns": case.unknowns,
    }


def _print(into: Path, promoted: Promoted) -> None:
    from rich.text import Text

    from trailhound.evaluators.testset.derive import in_words
    from trailhound.show.screen import screen
    from trailhound.show.text import plain

    console, case = screen(), promoted.case
    head = ("written", "bold green") if promoted.written else ("already there", "bold")
    console.print(Text(head[0], style=head[1]).append(f"  {into / promoted.name}", style="none"), soft_wrap=True)
    if not promoted.written:
        return
    console.print(Text(plain(case.title)), soft_wrap=True)
    for demand in in_words(case.contract):
        console.print(Text("  demands   ", style="dim").append(plain(demand), style="none"), soft_wrap=True)
    console.print(_proof(case), soft_wrap=True)
    for unknown in case.unknowns:
        console.print(Text("  unknown   ", style="yellow").append(plain(unknown), style="none"), soft_wrap=True)


def _proof(case: Any) -> Any:
    from rich.text import Text

    from trailhound.show.text import plain

    if case.proof is None or not case.proof.fails:
        return Text(
            "  unproved  judged by its contract, the recorded run passes: complete the contract", style="bold yellow"
        )
    return Text("  proved    ", style="green").append(
        f"the recorded run fails it: {plain('; '.join(case.proof.breaches), 400)}", style="none"
    )
