"""`trailhound testset`: is the set sound, deal it, run an agent on it, and say what the numbers mean."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from trailhound import options

if TYPE_CHECKING:
    from trailhound.evaluators.testset.comparison import Comparison, Policy
    from trailhound.evaluators.testset.loading import TestSet
    from trailhound.evaluators.testset.report.summary import Summary
    from trailhound.evaluators.testset.results import Results

Cases = Annotated[list[Path], typer.Argument(metavar="PATH...", help="Case files or folders of cases.")]

JudgeUrl = Annotated[
    str | None, typer.Option("--judge", metavar="URL", help="OpenAI-compatible endpoint of a model judge, up to `/v1`.")
]
JudgeModel = Annotated[str | None, typer.Option("--judge-model", metavar="NAME", help="Its model.")]
JudgeKey = Annotated[str, typer.Option("--judge-key", metavar="VAR", help="Variable that holds its key.")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        help="Work with a test set: check it, deal it to splits, run an agent on it, report.", no_args_is_help=True
    )
    group.command("lint")(lint)
    group.command("split")(split)
    group.command("rotate")(rotate)
    group.command("run")(run)
    group.command("report")(report)
    group.command("calibrate")(calibrate)
    group.command("export")(export)
    group.command("import")(import_cases)
    app.add_typer(group, name="testset")


# ---------------------------------------------------------------- lint, split, rotate


def lint(
    paths: Cases,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 for warnings too.")] = False,
    output: options.Format = "text",
) -> None:
    """Check cases: format, contradictory or unsolvable contracts, families on both sides of a split, cases that an
    agent which does nothing passes. Exit code 1 for an error."""
    from trailhound.evaluators.testset.lint import lint as complaints_of
    from trailhound.evaluators.testset.loading import load_testset

    testset = load_testset(paths)
    complaints = complaints_of(testset)
    if output == "json":
        items = [{"level": c.level, "case_id": c.case_id, "text": c.text} for c in complaints]
        options.print_json({"cases": len(testset.cases), "complaints": items})
    else:
        from trailhound.show.text import plain

        for complaint in complaints:
            where = f"{complaint.case_id}: " if complaint.case_id else ""
            typer.echo(f"{complaint.level}  {plain(where + complaint.text)}")
        typer.echo(f"{len(testset.cases)} cases, {len(complaints)} complaints")
    if any(c.level == "error" or strict for c in complaints):
        raise typer.Exit(1)


def split(
    paths: Cases,
    holdout: Annotated[float, typer.Option("--holdout", min=0, max=1, help="Share of the families.")] = 0.2,
    regression: Annotated[float, typer.Option("--regression", min=0, max=1, help="Share of the families.")] = 0.4,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")] = False,
) -> None:
    """Deal the cases to dev, regression and holdout by a hash of their family: a new case moves no old one, and
    variants of one task stay together. Only the line `split:` of a file changes."""
    from trailhound.errors import Invalid
    from trailhound.evaluators.testset.split import Shares, dealt

    if holdout + regression > 1:
        raise Invalid("--holdout and --regression are more than 1 together", reason="usage")
    testset = _sound(paths)
    _move(testset, dict(dealt(testset, Shares(holdout=holdout, regression=regression))), dry_run)


def rotate(
    paths: Cases,
    month: Annotated[str | None, typer.Option("--month", metavar="YYYY-MM", help="This month without it.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")] = False,
) -> None:
    """Let a fifth of the holdout families go to regression and take as many of the newest dev families in. Once a
    month: what has been reported on often is slowly learned by heart."""
    from trailhound.clock import SystemClock, rfc3339
    from trailhound.evaluators.testset.split import Rotations, rotated

    testset = _sound(paths)
    when = month or rfc3339(SystemClock().now_ns())[:7]
    moves = rotated(testset, when)
    log = Rotations(paths[0] if paths[0].is_dir() else paths[0].parent)
    if log.has(when):
        typer.echo(f"{when} has been rotated already ({log.path})")
        return
    _move(testset, dict(moves), dry_run)
    if not dry_run:
        log.add(when, {case_id: to for case_id, to in moves.items() if testset.cases[case_id].split != to})


def _sound(paths: list[Path]) -> TestSet:
    from trailhound.errors import Invalid
    from trailhound.evaluators.testset.loading import load_testset

    testset = load_testset(paths)
    if testset.broken:
        raise Invalid(testset.broken[0], reason="case")
    return testset


def _move(testset: TestSet, wanted: dict[str, Any], dry_run: bool) -> None:
    from trailhound.evaluators.testset.split import set_split

    moved = {case_id: to for case_id, to in wanted.items() if testset.cases[case_id].split != to}
    for case_id, to in sorted(moved.items()):
        typer.echo(f"{case_id}: {testset.cases[case_id].split} -> {to}")
        if not dry_run:
            set_split(testset.paths[case_id], to)
    counts = {name: sum(to == name for to in wanted.values()) for name in ("dev", "regression", "holdout")}
    typer.echo(f"{len(moved)} of {len(wanted)} cases moved; " + ", ".join(f"{n} {name}" for name, n in counts.items()))


# ---------------------------------------------------------------- run


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
    batch = Batch(_sound(paths), wanted, results)
    found = batch.run(command, workers=workers, all_cases=all_cases, quiet=output == "json")
    summary = _summary(found)
    if output == "json":
        options.print_json(summary.model_dump(mode="json"))
    else:
        _print(summary, None)
        typer.echo(f"results in {found.path}")
    if summary.verdicts["pass"] < summary.trials or summary.not_run:
        raise typer.Exit(1)


# ---------------------------------------------------------------- report


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
        _write(_rendered(output, found, summary, comparison), to)
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


def _write(text: str, to: Path | None) -> None:
    from trailhound.errors import Invalid

    if to is None:
        typer.echo(text, nl=False)
        return
    try:
        to.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise Invalid(f"{to}: cannot be written: {error.strerror}", reason="usage") from None


def _print(summary: Summary, comparison: Comparison | None) -> None:
    from trailhound.evaluators.testset.report.wording import as_text

    typer.echo(as_text(summary, comparison), nl=False)


# ---------------------------------------------------------------- calibrate


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


# ---------------------------------------------------------------- export, import

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
    _write(_format(output).write(testset.ordered()), to)


def import_cases(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File of another tool.")],
    output: FormatName,
    into: Annotated[Path, typer.Option("--into", metavar="DIR", help="Folder of the cases.")] = Path("cases"),
) -> None:
    """Read cases from the file of another tool into case files. Cases that are there already stay as they are."""
    from trailhound.errors import Invalid
    from trailhound.evaluators.testset.fitting import fit
    from trailhound.evaluators.testset.folder import CaseFolder

    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"{file}: cannot be read: {error}", reason="exchange") from None
    try:
        cases = _format(output).read(text)
    except Invalid as error:
        raise Invalid(f"{file}: {error}", reason="exchange") from None
    with CaseFolder(into) as folder:
        written = [case.id for case in cases if folder.write(f"{case.id}.yaml", fit(case))]
    for case_id in written:
        typer.echo(f"written  {into / case_id}.yaml")
    typer.echo(f"{len(written)} of {len(cases)} cases written, {len(cases) - len(written)} were there already")


def _format(name: str) -> Any:
    from trailhound.errors import Invalid
    from trailhound.evaluators.testset.exchange.base import formats

    found = formats().get(name)
    if found is None:
        raise Invalid(f"--format {name!r} is none of {', '.join(formats())}", reason="usage")
    return found
