"""A report as one plain HTML page with plots drawn as SVG: no script, nothing loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from trailhound.evaluators.testset.comparison import Comparison
from trailhound.evaluators.testset.report.summary import CaseNumbers, Estimate, Summary
from trailhound.evaluators.testset.report.wording import case_line, comparison_lines, facts

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1c2024; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0 2rem; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #ddd; vertical-align: top; }
svg text { font: 12px system-ui, sans-serif; fill: #1c2024; }
.pass { fill: #2a7d4f; } .fail { fill: #c0392b; } .unknown { fill: #b8a13a; }
@media (prefers-color-scheme: dark) {
  body { background: #15181b; color: #e4e6e8; } th, td { border-color: #333; } svg text { fill: #e4e6e8; }
}
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""What was written by a model can load and run nothing, even if an escape were missed."""

PLOTTED = 100
"""Cases in the plot; the table below it has all."""


def page(summary: Summary, comparison: Comparison | None = None) -> str:
    """The whole page."""
    title = f"Test run of {summary.manifest.application or 'the agent'} {summary.manifest.version or ''}".strip()
    decision = "" if comparison is None else _list(comparison_lines(comparison))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>{decision}"
        f"{_table(('number', 'value'), facts(summary))}"
        f"<h2>Estimates with 95 % intervals</h2>{_intervals(summary)}"
        f"<h2>Cases, unstable ones first</h2>{_bars(summary.cases[:PLOTTED])}"
        f"{_table(('case', 'passes', 'first reason'), [_row(case) for case in summary.cases])}"
        f"{_table(('why trials did not pass', 'trials'), [(k, str(n)) for k, n in summary.failures.items()])}"
        "</body></html>\n"
    )


def _row(case: CaseNumbers) -> tuple[str, str, str]:
    return case.case_id, case_line(case), case.first_reason or ""


def _list(lines: list[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>" if rows else ""


def _intervals(summary: Summary) -> str:
    rows = [("pass@1", summary.pass_at_1)]
    if summary.k > 1:
        rows += [(f"pass@{summary.k}", summary.pass_at_k), (f"pass^{summary.k}", summary.pass_hat_k)]
    marks = "".join(_interval(y * 26 + 18, name, value) for y, (name, value) in enumerate(rows))
    return f'<svg width="100%" viewBox="0 0 640 {len(rows) * 26 + 8}" role="img">{marks}</svg>'


def _interval(y: int, name: str, value: Estimate) -> str:
    if value.value is None:
        return f'<text x="0" y="{y}">{escape(name)}: not known</text>'
    low, high = (_x(v if v is not None else value.value) for v in (value.low, value.high))
    return (
        f'<text x="0" y="{y}">{escape(name)}</text>'
        f'<line x1="{low}" x2="{high}" y1="{y - 4}" y2="{y - 4}" stroke="#888" stroke-width="3"/>'
        f'<circle class="pass" cx="{_x(value.value)}" cy="{y - 4}" r="5"/>'
        f'<text x="600" y="{y}">{value.value:.0%}</text>'
    )


def _x(share: float) -> float:
    return round(100 + 480 * share, 1)


def _bars(cases: list[CaseNumbers]) -> str:
    bars = "".join(_bar(number * 18 + 12, case) for number, case in enumerate(cases))
    return f'<svg width="100%" viewBox="0 0 640 {len(cases) * 18 + 6}" role="img">{bars}</svg>'


def _bar(y: int, case: CaseNumbers) -> str:
    x, parts = 330.0, []
    for css, count in (("pass", case.c), ("unknown", case.unknown), ("fail", case.n - case.c - case.unknown)):
        width = 300 * count / case.n if case.n else 0
        parts.append(f'<rect class="{css}" x="{x:.1f}" y="{y - 10}" width="{width:.1f}" height="12"/>')
        x += width
    return f'<text x="0" y="{y}">{escape(case.case_id[:48])}</text>{"".join(parts)}'
