"""The lines that all reports share: each number with its name, its interval, and what is not known said so."""

from __future__ import annotations

from trailhound.evaluators.testset.comparison import Comparison
from trailhound.evaluators.testset.report.summary import CaseNumbers, Estimate, Summary

UNKNOWN = "not known"


def percent(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.1%}"


def estimate(value: Estimate) -> str:
    """`80.0 % (95 % interval 61.2 % to 93.1 %)`."""
    if value.low is None or value.high is None:
        return percent(value.value)
    return f"{percent(value.value)} (95 % interval {percent(value.low)} to {percent(value.high)})"


def facts(summary: Summary) -> list[tuple[str, str]]:
    """(name, value) of every number of a summary, in the order of a report."""
    k, verdicts = summary.k, summary.verdicts
    lines = [
        (
            "trials",
            f"{summary.trials}: {verdicts['pass']} pass, {verdicts['fail']} fail, {verdicts['unknown']} unknown",
        ),
        ("pass@1", estimate(summary.pass_at_1)),
    ]
    if k > 1:
        lines += [(f"pass@{k}", estimate(summary.pass_at_k)), (f"pass^{k}", estimate(summary.pass_hat_k))]
    lines += [
        ("accepted", percent(summary.accepted_share)),
        ("cost", _money(summary.cost_usd)),
        ("cost per accepted", summary.cost_note or _money(summary.cost_per_accepted_usd)),
        ("time P50, P95", f"{_seconds(summary.latency_p50_s)}, {_seconds(summary.latency_p95_s)}"),
        ("mean steps", UNKNOWN if summary.mean_steps is None else f"{summary.mean_steps:.1f}"),
        ("failed tool calls", f"{percent(summary.tool_error_rate)}, recovered {percent(summary.tool_recovery_rate)}"),
        ("reliability of a step", percent(summary.step_reliability)),
        ("incidents", _incidents(summary)),
    ]
    lines += [("not run", f"{number} planned trials: {why}") for why, number in summary.not_run.items()]
    if summary.reruns:
        lines.append(("reruns", f"{summary.reruns}, not counted: the first result of a trial stands"))
    return lines


def case_line(case: CaseNumbers) -> str:
    """`3 of 5` and what is most often wrong."""
    worst = next(iter(case.failures), "")
    return f"{case.c} of {case.n}" + (f", {worst}" if worst else "")


def comparison_lines(comparison: Comparison) -> list[str]:
    """The decision and its reasons, then what the comparison cannot say."""
    lines = [f"decision: {comparison.decision}"]
    lines += [f"because {reason}" for reason in comparison.reasons]
    lines.append(f"pass@1 changed by {_signed(comparison.change)} over {comparison.paired} paired cases")
    if comparison.worse:
        lines.append(f"worse: {', '.join(comparison.worse)}")
    if comparison.better:
        lines.append(f"better: {', '.join(comparison.better)}")
    if comparison.cost_ratio is not None:
        lines.append(f"an accepted result costs {comparison.cost_ratio:.2f} times as much")
    lines += [f"caution, the manifests differ in {part}" for part in comparison.differing]
    if comparison.only_old or comparison.only_new:
        lines.append(
            f"left out: {comparison.only_old} cases of the old run alone, {comparison.only_new} of the new one"
        )
    return lines


def _signed(value: Estimate) -> str:
    if value.value is None:
        return UNKNOWN
    if value.low is None or value.high is None:
        return f"{value.value:+.1%}"
    return f"{value.value:+.1%} (95 % interval {value.low:+.1%} to {value.high:+.1%})"


def _money(value: float | None) -> str:
    return UNKNOWN if value is None else f"${value:.4f}"


def _seconds(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.2f} s"


def _incidents(summary: Summary) -> str:
    if summary.incidents:
        return f"{summary.incidents} trials with a forbidden or unapproved call"
    return f"none; the true rate is at most {percent(summary.incident_rate_bound)} (95 %)"


SHOWN = 20
"""Cases in the text; the other forms have all."""


def as_text(summary: Summary, comparison: Comparison | None = None) -> str:
    """The report for a terminal; control characters that a case or a model brought are shown as marks."""
    lines = [] if comparison is None else [*comparison_lines(comparison), ""]
    lines += [f"{name:<22} {value}" for name, value in facts(summary)]
    short = [case for case in summary.cases if case.c < case.n]
    for case in short[:SHOWN]:
        lines.append(f"{case.case_id}: {case_line(case)}" + (" (unstable)" if case.unstable else ""))
        lines += [f"    {_one_line(case.first_reason)}"] if case.first_reason else []
        lines += [
            f"    trial {w.number} leaves the good run at call {w.index}: {w.actual or 'nothing'} instead of "
            f"{w.expected or 'the answer'}"
            for w in case.wrong_steps[:1]
        ]
    if len(short) > SHOWN:
        lines.append(f"... and {len(short) - SHOWN} more cases that do not always pass")
    return "".join(_one_line(line, indent=True) + "\n" for line in lines)


def _one_line(text: str, *, indent: bool = False) -> str:
    shown = "".join(c if c.isprintable() else "\ufffd" for c in text)
    return shown if indent else " ".join(shown.split())
