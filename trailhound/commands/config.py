"""`trailhound config`: is this configuration right, and what can be configured."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trailhound import options
from trailhound.asking import group


def register(app: typer.Typer) -> None:
    group(app, "config", "Check a configuration file, or print what it may hold.", {"check": check, "schema": schema})


def check(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="The configuration file.", show_default=False)
    ] = None,
    config: options.ConfigFile = None,
) -> None:
    """Check a configuration as a start would: `TRAILHOUND_` variables, the settings of the rules and channels, their
    secrets, the addresses, the store's and the price file included.

    Prints one line; exit code 2 when something in it is wrong.
    """
    from trailhound.alerts.channels import make_channels
    from trailhound.alerts.silences import configured
    from trailhound.clock import SystemClock
    from trailhound.collector.api.guard import listen_address
    from trailhound.collector.monitor import check_dsn
    from trailhound.collector.prices import prices_of
    from trailhound.collector.receive.server import listen_addresses
    from trailhound.config import load
    from trailhound.evaluators.judge import RuleSet

    path = file or config
    settings = load(path)
    RuleSet(settings)
    listen_addresses(settings)
    listen_address(settings.api)
    check_dsn(settings)
    prices_of(settings.prices.file)
    make_channels(settings.alerts, SystemClock())
    configured(settings.alerts.silences)
    typer.echo(f"{path or 'the defaults'}: ok")


def schema(config: options.ConfigFile = None) -> None:
    """Print the JSON Schema of the configuration file, every rule's settings included.

    With `--config`, also those of the rules in the configured `evaluators.folder`.
    """
    from trailhound.config import load

    options.print_json(whole_schema(load(config).evaluators.folder))


def whole_schema(folder: Path | None = None) -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of the configuration with each rule's settings under `rules.<id>`."""
    from trailhound.config import Config
    from trailhound.evaluators.plugins import foreign_types
    from trailhound.evaluators.registry import evaluator_types

    document = Config.model_json_schema()
    definitions = document.setdefault("$defs", {})
    rules: dict[str, Any] = {}
    for name, cls in {**evaluator_types(), **foreign_types(folder)}.items():
        settings = cls.SettingsType.model_json_schema(ref_template="#/$defs/{model}")
        definitions.update(settings.pop("$defs", {}))
        rules[name] = settings
    document["properties"]["rules"] = {
        "type": "object",
        "description": document["properties"]["rules"].get("description", ""),
        "properties": rules,
        "additionalProperties": False,
    }
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **document, "title": "Trailhound configuration"}
