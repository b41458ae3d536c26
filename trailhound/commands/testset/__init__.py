"""`trailhound testset`: is the set sound, deal it, run an agent on it, and say what the numbers mean."""

from __future__ import annotations

import typer

from trailhound.asking import Command, group
from trailhound.commands.testset.exchange import export, import_cases
from trailhound.commands.testset.runs import calibrate, report, run
from trailhound.commands.testset.sets import lint, rotate, schema, split


def register(app: typer.Typer) -> None:
    commands: dict[str, Command] = {
        "lint": lint,
        "split": split,
        "rotate": rotate,
        "schema": schema,
        "run": run,
        "report": report,
        "calibrate": calibrate,
        "export": export,
        "import": import_cases,
    }
    help = "Work with a test set: check it, deal it to splits, run an agent on it, report."
    group(app, "testset", help, commands)
