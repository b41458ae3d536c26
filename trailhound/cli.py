"""The command line: finds the commands, runs one, and turns every expected error into one line and an exit code."""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from trailhound.errors import Invalid, Retryable

OK, FAILED, USAGE = 0, 1, 2
"""Exit codes: fine; findings or failures; usage or configuration."""
INTERRUPTED = 130

# typer carries its own copy of click and gives this base class no public name
_UsageError: Any = typer.BadParameter.__mro__[2]


def application(wanted: str = "") -> typer.Typer:
    """The `trailhound` command with every module of `trailhound.commands` registered on it.

    When `wanted` names one of them (a module is named as its command), only that one: typer inspects each parameter
    of each command that it knows, and the rest would take as long as judging a request.
    """
    app = typer.Typer(
        name="trailhound",
        help="Watches LLM agents in production: rebuilds every run from OpenTelemetry and judges it while it runs.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog="Exit codes: 0 fine, 1 findings or failures, 2 wrong usage or configuration.",
    )
    app.callback()(_options)
    from trailhound import commands

    names = sorted(info.name for info in pkgutil.iter_modules(commands.__path__))
    for module in [wanted] if wanted in names else names:
        importlib.import_module(f"trailhound.commands.{module}").register(app)
    return app


def main() -> None:
    """Entry point of the console script `trailhound`."""
    args = sys.argv[1:]
    sys.exit(run(application(args[0] if args else ""), args, "trailhound"))


def promote_trace_main() -> None:
    """Entry point of the console script `promote-trace`."""
    from trailhound.commands.promote import promote

    app = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.command()(promote)
    sys.exit(run(app, sys.argv[1:], "promote-trace"))


def run(app: typer.Typer, args: Sequence[str], program: str) -> int:
    """Run one command line and return its exit code; expected errors become one line on stderr."""
    _tolerate_any_text()
    try:
        code = typer.main.get_command(app)(args=list(args), prog_name=program, standalone_mode=False)
        sys.stdout.flush()
    except _UsageError as error:
        return _complain(f"{_one_line(error.format_message())} (see `{_help_command(error, program)}`)", USAGE)
    except Invalid as error:
        return _complain(str(error), FAILED if error.reason == "not_found" else USAGE)
    except Retryable as error:
        return _complain(str(error), FAILED)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except BrokenPipeError:  # the reader (head, less) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    return code if isinstance(code, int) else OK


def _print_version(asked: bool) -> None:
    if asked:
        from trailhound import __version__

        typer.echo(f"trailhound {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Options of `trailhound` itself."""


def _complain(message: str, code: int) -> int:
    from trailhound.show.text import plain

    print(f"trailhound: {plain(message)}", file=sys.stderr)
    return code


def _one_line(message: str) -> str:
    return " ".join(message.replace("Value error, ", "").split()).rstrip(".")


def _help_command(error: Any, program: str) -> str:
    context = getattr(error, "ctx", None)
    return f"{context.command_path if context is not None else program} --help"


def _tolerate_any_text() -> None:
    """What a model wrote must never break the output, whatever the terminal's encoding."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


if __name__ == "__main__":
    main()
