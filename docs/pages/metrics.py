"""docs/metrics.md: the closed list of metrics."""

from __future__ import annotations

from pages import NOTE, code, table
from trailhound.metrics import MAX_LABEL_VALUES, MAX_SERIES, OTHER, SPECS, Spec

_INTRO = f"""# Metrics

{NOTE}
`http://127.0.0.1:4320/metrics` serves them in the Prometheus text format, and as OpenMetrics with trace ids as exemplars (on findings and ended runs) to scrapers that ask for it. It holds the metrics of both processes: what both have is added up. The list is closed: nothing else is exposed, and no label name is made at run time.

Label values that come from outside (services, agents, tools, models) are limited to {MAX_LABEL_VALUES} for each label name: the last of them is `{OTHER}`, which all further ones share, and `trailhound_label_overflow_total` counts them; a metric has at most {MAX_SERIES} lines, further ones are summed in series whose outside labels are all `{OTHER}`. Counters of tokens and cost grow once a call's place among its neighbours is settled, never fall, and restart at 0 with the process.
"""
_PARTS = {
    "trailhound_": "The daemon itself",
    "agent_": "What it watches",
}


def page() -> str:
    return _INTRO + "".join(_part(prefix, title) for prefix, title in _PARTS.items())


def _part(prefix: str, title: str) -> str:
    specs = [spec for spec in SPECS if spec.name.startswith(prefix)]
    return f"\n## {title}\n\n" + table(("metric", "type", "labels", "meaning"), map(_row, specs))


def _row(spec: Spec) -> tuple[str, str, str, str]:
    return code(spec.name), spec.type, ", ".join(map(code, spec.labels)), spec.help
