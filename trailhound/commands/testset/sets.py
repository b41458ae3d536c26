"""`trailhound testset lint`, `split` and `rotate`: is the set sound, and what lies where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from trailhound import options
from trailhound.commands.testset.arguments import Cases, sound

if TYPE_CHECKING:
    from trailhound.evaluators.testset.loading import TestSet


def lint(
    paths: Cases,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 for warnings too.")] = False,
    output: options.Format = "text",
) -> None:
    """Check cases: format, contradictory or unsolvable contracts, families on both sides of a split, cases that an
    agent which does nothing passes. Exit code 1 for an error."""
    from trailhound.evaluators.testset.lint import lint as complaints_of
    from trailhound.evaluators.testset.loading import load_testset

    testset = load_testset(paths)
    complaints = complaints_of(testset)
    if output == "json":
        items = [{"level": c.level, "case_id": c.case_id, "text": c.text} for c in complaints]
        options.print_json({"cases": len(testset.cases), "complaints": items})
    else:
        from trailhound.show.text import plain

        for complaint in complaints:
            where = f"{complaint.case_id}: " if complaint.case_id else ""
            typer.echo(f"{complaint.level}  {plain(where + complaint.text)}")
        typer.echo(f"{len(testset.cases)} cases, {len(complaints)} complaints")
    if any(c.level == "error" or strict for c in complaints):
        raise typer.Exit(1)


def split(
    paths: Cases,
    holdout: Annotated[float, typer.Option("--holdout", min=0, max=1, help="Share of the families.")] = 0.2,
    regression: Annotated[float, typer.Option("--regression", min=0, max=1, help="Share of the families.")] = 0.4,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")] = False,
) -> None:
    """Deal the cases to dev, regression and holdout by a hash of their family: a new case moves no old one, and
    variants of one task stay together. Only the line `split:` of a file changes."""
    from trailhound.errors import Invalid
    from trailhound.evaluators.testset.split import Shares, dealt

    if holdout + regression > 1:
        raise Invalid("--holdout and --regression are more than 1 together", reason="usage")
    testset = sound(paths)
    _move(testset, dict(dealt(testset, Shares(holdout=holdout, regression=regression))), dry_run)


def rotate(
    paths: Cases,
    month: Annotated[str | None, typer.Option("--month", metavar="YYYY-MM", help="This month without it.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")] = False,
) -> None:
    """Let a fifth of the holdout families go to regression and take as many of the newest dev families in. Once a
    month: what has been reported on often is slowly learned by heart."""
    from trailhound.clock import SystemClock, rfc3339
    from trailhound.evaluators.testset.split import Rotations, rotated

    testset = sound(paths)
    when = month or rfc3339(SystemClock().now_ns())[:7]
    moves = rotated(testset, when)
    log = Rotations(paths[0] if paths[0].is_dir() else paths[0].parent)
    if log.has(when):
        typer.echo(f"{when} has been rotated already ({log.path})")
        return
    _move(testset, dict(moves), dry_run)
    if not dry_run:
        log.add(when, {case_id: to for case_id, to in moves.items() if testset.cases[case_id].split != to})


def _move(testset: TestSet, wanted: dict[str, Any], dry_run: bool) -> None:
    from trailhound.evaluators.testset.split import set_split

    moved = {case_id: to for case_id, to in wanted.items() if testset.cases[case_id].split != to}
    for case_id, to in sorted(moved.items()):
        typer.echo(f"{case_id}: {testset.cases[case_id].split} -> {to}")
        if not dry_run:
            set_split(testset.paths[case_id], to)
    counts = {name: sum(to == name for to in wanted.values()) for name in ("dev", "regression", "holdout")}
    typer.echo(f"{len(moved)} of {len(wanted)} cases moved; " + ", ".join(f"{n} {name}" for name, n in counts.items()))


def schema() -> None:
    """Print the JSON Schema of a case file, for editors and other tools."""
    from trailhound.evaluators.testset.case import FORMAT, Case

    options.print_json(
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": FORMAT, **Case.model_json_schema()}
    )
