"""`trailhound findings`: what the rules say about the runs that a daemon has seen."""

from __future__ import annotations

import typer

from trailhound import options
from trailhound.asking import JUDGED, WHEN, WHO, group, listing, single


def register(app: typer.Typer) -> None:
    filters = {**JUDGED, **WHO, "session_id": options.Session, **WHEN}
    commands = {
        "list": listing("findings", "List findings, newest first.", filters, "findings.show_findings"),
        "show": single(
            "findings", "Show one finding with its evidence and details.", "Finding id.", "findings.show_finding_alone"
        ),
    }
    group(app, "findings", "What the rules found in the runs of a running daemon: list, show one.", commands)
