"""`trailhound testset run`, `report` and `calibrate`: run an agent or a judge, and say what the numbers mean."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from trailhound import options
from trailhound.commands.testset.arguments import Cases, JudgeKey, JudgeModel, JudgeUrl, sound, write_text

if TYPE_CHECKING:
    from trailhound.evaluators.testset.comparison import Comparison, Policy
    from trailhound.evaluators.testset.report.summary import Summary
    from trailhound.evaluators.testset.results import Results


def run(
    paths: Cases,
    command: Annotated[
        str, typer.Option("--command", metavar="CMD", help="The agent: task as JSON on stdin, answer on stdout.")
    ],
    trials: Annotated[int, typer.Option("--trials", min=1, max=1000, help="Trials of each case.")] = 1,
    core: Annotated[bool, typer.Option("--core", help="Only the core set.")] = False,
    all_cases: Annotated[bool, typer.Option("--all-cases", help="Go on when the core set fails.")] = False,
    timeout: Annotated[float, typer.Option("--timeout", min=0.1, metavar="S", help="Seconds a trial may take.")] = 300,
    retries: Annotated[int, typer.Option("--retries", min=0, help="Repeat a trial that could not be measured.")] = 0,
    workers: Annotated[int, typer.Option("--workers", "-j", min=1, max=64, help="Trials at the same time.")] = 1,
    results: Annotated[
        Path | None, typer.Option("--results", metavar="DIR", help="A new folder; one under trial-results/ without it.")
    ] = None,
    application: Annotated[str | None, typer.Option("--application", help="Name of what is tested.")] = None,
    version: Annotated[str | None, typer.Option("--app-version", help="Its version.")] = None,
    judge: JudgeUrl = None,
    judge_model: JudgeModel = None,
    judge_key: JudgeKey = "OPENAI_API_KEY",
    output: options.Format = "text",
) -> None:
    """Run an agent that is a command on each case, and judge every trial. It finds the task on stdin as
    `{"case_id", "trial", "input", "context"}`, says its answer on stdout, and exports spans over OTLP to where the
    variables that OpenTelemetry SDKs read (`OTEL_EXPORTER_OTLP_ENDPOINT`) point. Exit code 1 when a trial does not pass.
    """
    from trailhound.trials.batch import Batch
    from trailhound.trials.plan import Wanted, grader_of

    grader = grader_of(judge, judge_model, judge_key)
    wanted = Wanted(trials, timeout, retries, core, application, version, grader)
    batch = Batch(sound(paths), wanted, results)
    found = batch.run(command, workers=workers, all_cases=all_cases, quiet=output == "json")
    summary = _summary(found)
    if output == "json":
        options.print_json(summary.model_dump(mode="json"))
    else:
        _print(summary, None)
        typer.echo(f"results in {found.path}")
    if summary.verdicts["pass"] < summary.trials or summary.not_run:
        raise typer.Exit(1)


def report(
    results: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the results of a run.")],
    against: Annotated[
        Path | None, typer.Option("--against", metavar="DIR", help="Results of the version to compare with.")
    ] = None,
    policy: Annotated[
        Path | None, typer.Option("--policy", metavar="FILE", help="Release policy (YAML); the default without it.")
    ] = None,
    output: Annotated[
        Literal["text", "json", "markdown", "junit", "html"], typer.Option("--format", "-f", help="Form of the report.")
    ] = "text",
    to: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it there.")] = None,
) -> None:
    """Say what a run is worth: pass@k, pass^k, intervals, cost, time, first wrong steps; or compare two versions by a
    release policy. Exit code 1 when the policy blocks the release or leaves it undecided."""
    from trailhound.evaluators.testset.comparison import compare
    from trailhound.evaluators.testset.results import Results

    found = Results.open(results)
    summary = _summary(found)
    comparison = None if against is None else compare(_summary(Results.open(against)), summary, _policy(policy))
    if output == "text" and to is None:
        _print(summary, comparison)
    else:
        write_text(_rendered(output, found, summary, comparison), to)
    if comparison is not None and comparison.decision != "release":
        raise typer.Exit(1)


def _summary(results: Results) -> Summary:
    from trailhound.evaluators.testset.report.summary import summarize

    return summarize(results)


def _policy(path: Path | None) -> Policy:
    from trailhound.evaluators.testset.comparison import Policy, read_policy

    return Policy() if path is None else read_policy(path)


def _rendered(form: str, results: Results, summary: Summary, comparison: Comparison | None) -> str:
    from trailhound.evaluators.testset.report.junit import junit
    from trailhound.evaluators.testset.report.markdown import markdown
    from trailhound.evaluators.testset.report.page import page
    from trailhound.evaluators.testset.report.wording import as_text

    if form == "junit":
        return junit(results)
    if form == "json":
        import orjson

        document = {"summary": summary.model_dump(mode="json"), "comparison": None}
        if comparison is not None:
            document["comparison"] = comparison.model_dump(mode="json")
        return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode() + "\n"
    return {"markdown": markdown, "html": page, "text": as_text}[form](summary, comparison)


def _print(summary: Summary, comparison: Comparison | None) -> None:
    from trailhound.evaluators.testset.report.wording import as_text

    typer.echo(as_text(summary, comparison), nl=False)


def calibrate(
    labels: Annotated[
        Path, typer.Argument(metavar="FILE", help='JSON lines: {"rubric", "input", "output", "label": "pass"|"fail"}.')
    ],
    judge: JudgeUrl = None,
    judge_model: JudgeModel = None,
    judge_key: JudgeKey = "OPENAI_API_KEY",
    output: options.Format = "text",
) -> None:
    """Compare a model judge with people's labels: how many bad answers it lets through and how many good ones it
    refuses, for agreement alone hides the first."""
    from trailhound.errors import Invalid
    from trailhound.trials.calibration import calibrate_judge
    from trailhound.trials.plan import grader_of

    grader = grader_of(judge, judge_model, judge_key)
    if grader is None:
        raise Invalid("name the judge: --judge URL --judge-model NAME", reason="usage")
    found = calibrate_judge(grader, labels)
    if output == "json":
        options.print_json(found.document())
        return
    for name, value in found.lines():
        typer.echo(f"{name:<22} {value}")
