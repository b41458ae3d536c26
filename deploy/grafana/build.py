"""Writes the dashboards from panels.py with Grafana's own builders: `python deploy/grafana/build.py`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from grafana_foundation_sdk.builders import bargauge, common, dashboard, prometheus, stat, table, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import StackingMode
from grafana_foundation_sdk.models.dashboard import (
    DataSourceRef,
    ThresholdsMode,
    VariableRefresh,
    VariableSort,
)
from panels import BOARDS
from shapes import Board, Panel

FOLDER = Path(__file__).parent / "dashboards"
SOURCE = DataSourceRef(type_val="prometheus", uid="prometheus")
HEIGHTS = {"stat": 4, "timeseries": 8, "table": 9, "bargauge": 8}
_KINDS: dict[str, Any] = {
    "stat": stat.Panel,
    "timeseries": timeseries.Panel,
    "table": table.Panel,
    "bargauge": bargauge.Panel,
}


def built(board: Board) -> str:
    """The JSON of one dashboard, the same on every run."""
    builder = (
        dashboard.Dashboard(board.title)
        .uid(board.uid)
        .description(board.about)
        .tags(board.tags)
        .refresh("10s")
        .time("now-3h", "now")
        .timezone("browser")
        .readonly()
    )
    for variable in _variables() if board.by_agent else ():
        builder.with_variable(variable)
    for title, panels in board.rows.items():
        builder.with_row(dashboard.Row(title))
        for panel in panels:
            builder.with_panel(_panel(panel))
    return str(JSONEncoder(sort_keys=True, indent=2).encode(builder.build())) + "\n"


def _variables() -> list[Any]:
    asked = {
        "service": "label_values(agent_trajectories_total, service)",
        "agent": 'label_values(agent_trajectories_total{service=~"$service"}, agent)',
    }
    return [
        dashboard.QueryVariable(name)
        .label(name.capitalize())
        .datasource(SOURCE)
        .query(query)
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.ALPHABETICAL_ASC)
        .multi(True)
        .include_all(True)
        .all_value(".*")
        for name, query in asked.items()
    ]


def _panel(panel: Panel) -> Any:
    query = prometheus.Dataquery().expr(panel.expr).legend_format(panel.legend or "__auto").ref_id("A")
    if panel.kind in ("stat", "table", "bargauge"):
        query.instant()
        query.format(prometheus_format("table" if panel.kind == "table" else "time_series"))
    else:
        query.range().exemplar("agent_findings_total" in panel.expr)
    made = (
        _KINDS[panel.kind]()
        .title(panel.title)
        .description(panel.about)
        .datasource(SOURCE)
        .unit(panel.unit)
        .span(panel.width)
        .height(HEIGHTS[panel.kind])
        .with_target(query)
    )
    if panel.stacked:
        made.stacking(common.StackingConfig().mode(StackingMode.NORMAL)).fill_opacity(30)
    if panel.limits is not None:
        made.thresholds(_thresholds(panel.limits))
    return made


def prometheus_format(name: str) -> Any:
    """The query's format, by the name that Grafana stores."""
    from grafana_foundation_sdk.models.prometheus import PromQueryFormat

    return PromQueryFormat(name)


def _thresholds(limits: tuple[float, float]) -> Any:
    from grafana_foundation_sdk.models.dashboard import Threshold

    steps = [Threshold(value=None, color="green"), Threshold(value=limits[0], color="yellow")]
    steps += [Threshold(value=limits[1], color="red")] if limits[1] > limits[0] else []
    steps[-1].color = "red"
    return dashboard.ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(steps)


def main() -> int:
    for board in BOARDS:
        (FOLDER / f"{board.uid}.json").write_text(built(board), encoding="utf-8")
        print(f"wrote {board.uid}.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
