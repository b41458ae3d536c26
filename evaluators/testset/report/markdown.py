"""A report as Markdown, for a pull request; what a model or a case says is escaped."""

from __future__ import annotations

import re

from trailhound.evaluators.testset.comparison import Comparison
from trailhound.evaluators.testset.report.summary import Summary
from trailhound.evaluators.testset.report.wording import case_line, comparison_lines, facts

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+.!|~@-])")


def markdown(summary: Summary, comparison: Comparison | None = None) -> str:
    """Tables of the numbers and of the cases."""
    manifest = summary.manifest
    lines = [
        f"# Test run of {escape(manifest.application or 'the agent')} {escape(manifest.version or '')}".rstrip(),
        "",
    ]
    if comparison is not None:
        lines += [*(f"- {escape(line)}" for line in comparison_lines(comparison)), ""]
    lines += ["| number | value |", "|---|---|"]
    lines += [f"| {escape(name)} | {escape(value)} |" for name, value in facts(summary)]
    lines += ["", "| case | passes | first reason |", "|---|---|---|"]
    lines += [
        f"| {escape(case.case_id)} | {escape(case_line(case))} | {escape((case.first_reason or '')[:200])} |"
        for case in summary.cases
    ]
    if summary.slices:
        lines += ["", "| slice | cases | pass@1 |", "|---|---|---|"]
        lines += [
            f"| {escape(f'{s.by}: {s.name}')} | {s.cases} | {'' if s.pass_at_1 is None else f'{s.pass_at_1:.1%}'} |"
            for s in summary.slices
        ]
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split())).replace("\\<", "&lt;").replace("\\>", "&gt;")
