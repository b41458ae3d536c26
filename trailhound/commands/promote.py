"""`trailhound promote` and `promote-trace`: a production run becomes a test case."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from trailhound import options

if TYPE_CHECKING:
    from trailhound.client import Client
    from trailhound.evaluators.testset.promote import Promoted


def register(app: typer.Typer) -> None:
    app.command("promote")(promote)


def promote(
    trajectory_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Trajectory id or trace id of the run.", show_default=False)
    ] = None,
    into: Annotated[Path, typer.Option("--into", metavar="DIR", help="Folder of the cases; made if need be.")] = Path(
        "cases"
    ),
    split: Annotated[
        Literal["dev", "regression", "holdout"], typer.Option("--split", help="Part of the test set it belongs to.")
    ] = "dev",
    note: Annotated[str | None, typer.Option("--note", metavar="TEXT", help="What people should know of it.")] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Also when a case of the same task with the same fault is there.")
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Every run with a finding, instead of one run; see --rule and --since.")
    ] = False,
    rule: Annotated[str | None, typer.Option("--rule", metavar="ID", help="With --all: findings of this rule.")] = None,
    since: options.Since = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000, help="With --all: so many runs.")] = 100,
    redact: Annotated[
        bool, typer.Option("--redact/--no-redact", help="Replace secrets and personal data by tokens.")
    ] = True,
    config: options.ConfigFile = None,
    by: Annotated[
        str | None, typer.Option("--by", metavar="NAME", help="Who promotes it; the user's name without it.")
    ] = None,
    output: options.Format = "text",
    api: options.Api = options.API,
) -> None:
    """Turn a run into a test case: its input, its steps, the contract that it broke, and what is not known.

    Works for failed, looping, unfinished and still open runs alike. The case is proved: judged by its own contract, the
    recorded run must fail, and the last run that did the same task well must pass. The same run twice makes no second
    file; another run that failed in the same way at the same task makes none without `--anyway`. Secrets and personal
    data are replaced by tokens, equal ones by equal tokens; their key is kept in `~/.config/trailhound/redaction.key`.
    Exit code 1 for an unknown id.
    """
    from trailhound.client import Client
    from trailhound.config import load
    from trailhound.evaluators.testset.folder import CaseFolder
    from trailhound.evaluators.testset.promote import put_case
    from trailhound.evaluators.testset.promoter import Promoter

    client = Client(api)
    ids = _wanted(client, trajectory_id, every, rule, since, limit)
    promoter = Promoter(client, load(config).tools, redact=redact)
    cases = [promoter.case(wanted, split=split, note=note, by=by or _user()) for wanted in ids]
    with CaseFolder(into) as folder:  # not made before there is something to write
        made = [put_case(folder, case, anyway=anyway) for case in cases]
    if output == "json":
        documents = [_document(into, promoted) for promoted in made]
        options.print_json({"items": documents} if every else documents[0])
        return
    for promoted in made:
        _print(into, promoted)
    if every and not made:
        typer.echo("no run with such a finding")


def _wanted(
    client: Client, trajectory_id: str | None, every: bool, rule: str | None, since: str | None, limit: int
) -> list[str]:
    """Ids of the runs to promote. Raises BadParameter for a mixture of one run and all."""
    if every == (trajectory_id is not None):
        raise typer.BadParameter("name one run, or --all with --rule and --since", param_hint="ID")
    if trajectory_id is not None:
        if rule is not None or since is not None:
            raise typer.BadParameter("--rule and --since choose runs for --all", param_hint="--rule")
        return [trajectory_id]
    found = client.items("findings", limit * 10, {"rule": rule, "since": since})
    alarming = (f["trajectory_id"] for f in found if f["state"] != "resolved" and f["severity"] != "info")
    return list(dict.fromkeys(one for one in alarming if one is not None))[:limit]


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
        "matches": promoted.matches,
        "case_id": promoted.name.removesuffix(".yaml"),
        "fails_on_its_own_trajectory": case.proof is not None and case.proof.fails,
        "breaches": case.proof.breaches if case.proof is not None else [],
        "passes_on_good_run": case.proof.good_passes if case.proof is not None else None,
        "redacted": case.redacted,
        "unknowns": case.unknowns,
    }


def _print(into: Path, promoted: Promoted) -> None:
    from rich.text import Text

    from trailhound.evaluators.testset.derive import in_words
    from trailhound.show.screen import screen
    from trailhound.show.text import plain

    console, case = screen(), promoted.case
    there = "same fault" if promoted.matches else "already there"
    head = ("written", "bold green") if promoted.written else (there, "bold")
    console.print(Text(head[0], style=head[1]).append(f"  {into / promoted.name}", style="none"), soft_wrap=True)
    if promoted.matches:
        console.print(
            Text("  another run failed in the same way at the same task; --anyway writes this one too", "dim")
        )
    if not promoted.written:
        return
    console.print(Text(plain(case.title)), soft_wrap=True)
    for demand in in_words(case.contract):
        console.print(Text("  demands   ", style="dim").append(plain(demand), style="none"), soft_wrap=True)
    console.print(_proof(case), soft_wrap=True)
    if case.redacted:
        what = ", ".join(f"{number} {kind}" for kind, number in case.redacted.items())
        console.print(Text("  redacted  ", style="dim").append(plain(what), style="none"), soft_wrap=True)
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
