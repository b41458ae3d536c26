"""Commands that ask a running daemon: a list, one thing by its id, and how an answer is printed, each said once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from inspect import Parameter, Signature
from typing import Annotated, Any

import typer

from trailhound import options

Filters = Mapping[str, Any]
"""Field that the API filters by -> its option, as in `trailhound.options`."""
Command = Callable[..., None]

WHO: Filters = {"service": options.Service, "agent": options.Agent}
WHEN: Filters = {"since": options.Since, "until": options.Until}
JUDGED: Filters = {"rule": options.Rule, "severity": options.Severity, "state": options.State}


def group(app: typer.Typer, name: str, help: str, commands: Mapping[str, Command]) -> None:
    """Add `trailhound <name>` with these commands below it."""
    made = typer.Typer(help=help, no_args_is_help=True)
    for word, command in commands.items():
        made.command(word)(command)
    app.add_typer(made, name=name)


def listing(kind: str, help: str, filters: Filters, show: str) -> Command:
    """The command that lists the items at `/api/v1/<kind>`; `show` as in `answer`."""

    def command(*, limit: int, output: str, api: str, **asked: str | None) -> None:
        from trailhound.client import Client

        client = Client(api)
        found = list(client.items(kind, limit, asked))
        options.note_partial(client.partial)
        if not found and asked.get("rule"):
            _hint(str(asked["rule"]))
        answer(found, output, show)

    parameters = [_parameter(name, option, None) for name, option in filters.items()]
    parameters.append(_parameter("limit", options.Limit, options.LIMIT))
    return _described(command, help, parameters)


def single(kind: str, help: str, id_help: str, show: str) -> Command:
    """The command that shows the item with an id at `/api/v1/<kind>/<id>`; `show` as in `answer`."""

    def command(*, item_id: str, output: str, api: str) -> None:
        from trailhound.client import Client

        answer(Client(api).item(kind, item_id), output, show)

    asked = Annotated[str, typer.Argument(metavar="ID", help=id_help)]
    return _described(command, help, [_parameter("item_id", asked, Parameter.empty)])


def answer(found: dict[str, Any] | list[dict[str, Any]], output: str, show: str) -> None:
    """Print what was found as JSON, a list as the API's lists are; or as text by `show`, for example `alerts.show_alert`.

    `show` is a function of a module of `trailhound.show`, which is imported only now: it takes longer than asking.
    """
    if output == "json":
        options.print_json({"items": found} if isinstance(found, list) else found)
        return
    from trailhound.show.screen import screen

    module, function = show.split(".")
    getattr(import_module(f"trailhound.show.{module}"), function)(screen(), found)


def _hint(rule: str) -> None:
    """Say which rule may be meant by a name that found nothing."""
    from trailhound.checked import near
    from trailhound.evaluators.registry import evaluator_types

    rules = list(evaluator_types())
    if rule not in rules and (meant := near(rule, rules)):
        options.note(f"no rule of Trailhound is called `{rule}`; {meant.strip()}")


def _parameter(name: str, annotation: Any, default: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _described(command: Command, help: str, parameters: list[Parameter]) -> Command:
    """`command` with the signature that typer makes options of, and the text that it shows."""
    common = [_parameter("output", options.Format, "text"), _parameter("api", options.Api, options.API)]
    vars(command)["__signature__"] = Signature([*parameters, *common])
    command.__doc__ = help
    return command
