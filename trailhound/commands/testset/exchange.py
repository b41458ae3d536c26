"""`trailhound testset export` and `import`: cases in the formats of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trailhound import options
from trailhound.commands.testset.arguments import Cases, write_text

FormatName = Annotated[
    str,
    typer.Option("--format", "-f", metavar="NAME", help="agentevals, jsonl, langfuse, langsmith, promptfoo, pytest."),
]


def export(
    paths: Cases,
    output: FormatName,
    to: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it there.")] = None,
) -> None:
    """Write cases in the format of another tool. What that format cannot say is carried along, so that `import` brings
    back the same cases."""
    from trailhound.evaluators.testset.loading import load_testset

    testset = load_testset(paths)
    for line in testset.broken:
        options.note(line)
    write_text(_format(output).write(testset.ordered()), to)


def import_cases(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File of another tool.")],
    output: FormatName,
    into: Annotated[Path, typer.Option("--into", metavar="DIR", help="Folder of the cases.")] = Path("cases"),
) -> None:
    """Read cases from the file of another tool into case files. Cases that are there already stay as they are."""
    from trailhound.errors import Invalid
    from trailhound.evaluators.testset.fitting import fit
    from trailhound.evaluators.testset.folder import CaseFolder, file_name

    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"{file}: cannot be read: {error}", reason="exchange") from None
    try:
        cases = _format(output).read(text)
    except Invalid as error:
        raise Invalid(f"{file}: {error}", reason="exchange") from None
    with CaseFolder(into) as folder:
        written = [name for case in cases if folder.write(name := file_name(case.id), fit(case))]
    for name in written:
        typer.echo(f"written  {into / name}")
    typer.echo(f"{len(written)} of {len(cases)} cases written, {len(cases) - len(written)} were there already")


def _format(name: str) -> Any:
    from trailhound.errors import Invalid
    from trailhound.evaluators.testset.exchange.base import formats

    found = formats().get(name)
    if found is None:
        raise Invalid(f"--format {name!r} is none of {', '.join(formats())}", reason="usage")
    return found
