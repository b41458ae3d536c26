"""`trailhound testset`: is the set sound, deal it, run an agent on it, and say what the numbers mean."""

from __future__ import annotations

import typer

from trailhound.commands.testset.exchange import export, import_cases
from trailhound.commands.testset.runs import calibrate, report, run
from trailhound.commands.testset.sets import lint, rotate, schema, split


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        help="Work with a test set: check it, deal it to splits, run an agent on it, report.", no_args_is_help=True
    )
    group.command("lint")(lint)
    group.command("split")(split)
    group.command("rotate")(rotate)
    group.command("schema")(schema)
    group.command("run")(run)
    group.command("report")(report)
    group.command("calibrate")(calibrate)
    group.command("export")(export)
    group.command("import")(import_cases)
    app.add_typer(group, name="testset")
