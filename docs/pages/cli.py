"""docs/cli.md: every command, argument and option, read from the command line itself."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import typer.main

from pages import NOTE, code, table
from trailhound.cli import application

_INTRO = f"""# Command line

{NOTE}
Errors go to stderr. Exit codes: 0 fine, 1 findings or failures, 2 wrong usage or configuration. `--help` works everywhere. `promote-trace` is `trailhound promote` under its own name.
"""

Command = Any
"""A click command: typer carries its own copy of click and exports no type for it."""


def commands() -> Iterator[tuple[str, Command]]:
    """(whole name, command) of every command that does something, groups left out."""
    yield from _walk("trailhound", typer.main.get_command(application()))


def _walk(name: str, command: Command) -> Iterator[tuple[str, Command]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield name, command
        return
    for key in sorted(inner):
        yield from _walk(f"{name} {key}", inner[key])


def page() -> str:
    return _INTRO + "".join(_command(name, command) for name, command in commands())


def _command(name: str, command: Command) -> str:
    about = inspect.cleandoc(command.help or "").split("\f")[0].strip()
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    usage = " ".join([name, *(_usage(a) for a in arguments), "[OPTIONS]"])
    rows = [_row(p) for p in command.params if not getattr(p, "hidden", False)]
    options = "\n" + table(("argument or option", "default", "meaning"), rows) if rows else ""
    return f"\n## {name}\n\n```text\n{usage}\n```\n\n{about}\n{options}"


def _usage(argument: Any) -> str:
    name = (argument.metavar or argument.name).upper().strip("[]").removesuffix("...") + (
        "..." if argument.nargs == -1 else ""
    )
    return name if argument.required else f"[{name}]"


def _row(param: Any) -> tuple[str, str, str]:
    names = param.opts + param.secondary_opts if param.param_type_name == "option" else [_usage(param)]
    meaning = " ".join((getattr(param, "help", None) or "").split())
    if getattr(param, "envvar", None):
        meaning += f" (environment: `{param.envvar}`)"
    return ", ".join(map(code, names)), _default(param), meaning


def _default(param: Any) -> str:
    value = param.default
    if param.required or value is None or callable(value) or value in ((), [], False, ""):
        return ""
    return code(str(getattr(value, "value", value)))
