"""`trailhound rules`: every rule with its documentation and settings."""

from __future__ import annotations

from typing import Annotated

import typer

from trailhound import options
from trailhound.errors import Invalid


def register(app: typer.Typer) -> None:
    app.command("rules")(rules)


def rules(
    rule: Annotated[str | None, typer.Argument(metavar="[RULE]", help="Only this rule.", show_default=False)] = None,
    config: options.ConfigFile = None,
    output: options.Format = "text",
) -> None:
    """Print every rule: what it says, when, and what can be set under `rules.<id>`.

    With `--config`, also those of the configured `evaluators.folder`.
    """
    from dataclasses import asdict

    from trailhound.config import load
    from trailhound.evaluators.plugins import foreign_types
    from trailhound.evaluators.registry import describe

    found = describe(foreign_types(load(config).evaluators.folder))
    wanted = [description for description in found if rule in (None, description.rule)]
    if not wanted:
        raise Invalid(f"no rule {rule!r}; there are: {', '.join(d.rule for d in found)}", reason="not_found")
    if output == "json":
        options.print_json({"rules": [asdict(description) for description in wanted]})
        return
    from trailhound.show.rules import show_rules
    from trailhound.show.screen import screen

    show_rules(screen(), wanted)
