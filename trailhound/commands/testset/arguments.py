"""Arguments that several `testset` commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from trailhound.evaluators.testset.loading import TestSet

Cases = Annotated[list[Path], typer.Argument(metavar="PATH...", help="Case files or folders of cases.")]
JudgeUrl = Annotated[
    str | None, typer.Option("--judge", metavar="URL", help="OpenAI-compatible endpoint of a model judge, up to `/v1`.")
]
JudgeModel = Annotated[str | None, typer.Option("--judge-model", metavar="NAME", help="Its model.")]
JudgeKey = Annotated[str, typer.Option("--judge-key", metavar="VAR", help="Variable that holds its key.")]


def sound(paths: list[Path]) -> TestSet:
    """The test set in these paths. Raises Invalid when a file of it is no case."""
    from trailhound.errors import Invalid
    from trailhound.evaluators.testset.loading import load_testset

    testset = load_testset(paths)
    if testset.broken:
        raise Invalid(testset.broken[0], reason="case")
    return testset


def write_text(text: str, to: Path | None) -> None:
    """Text to a file, or to stdout for None. Raises Invalid."""
    from trailhound.errors import Invalid

    if to is None:
        typer.echo(text, nl=False)
        return
    try:
        to.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise Invalid(f"{to}: cannot be written: {error.strerror}", reason="usage") from None
