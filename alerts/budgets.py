"""How far the budgets of open runs and windows are used up: the highest share per agent, scope and metric."""

from __future__ import annotations

from trailhound.evaluators.limits import WARN_AT
from trailhound.metrics import Metrics
from trailhound.model import Finding

Series = tuple[str, str, str, str]
"""(service, agent, scope, metric)"""
NAME = "agent_budget_used_ratio"


class Budgets:
    """Follows the findings of the `budget` rule, so a share shows from where that rule speaks (80 %) on."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._shares: dict[Series, dict[str, float]] = {}
        """By series and finding."""
        self._series: dict[str, Series] = {}
        self._of_run: dict[tuple[str, str], set[str]] = {}
        self._changed: set[Series] = set()

    def take(self, finding: Finding, agent: str) -> None:
        """A finding that is new or changed; other rules' and those that say nothing of a share are passed over."""
        share, metric = finding.details.get("ratio"), finding.details.get("metric")
        if finding.rule != "budget" or not isinstance(share, float | int) or not isinstance(metric, str):
            return
        self._drop(finding.finding_id)
        if finding.state == "resolved" or (finding.details.get("unknown_calls") and share < WARN_AT):
            return  # over, or a share of what is known only: nobody can tell how much is used
        series = (finding.service, agent, finding.scope, metric)
        self._series[finding.finding_id] = series
        self._shares.setdefault(series, {})[finding.finding_id] = share
        if finding.trajectory_id is not None:
            self._of_run.setdefault((finding.tenant, finding.trajectory_id), set()).add(finding.finding_id)
        self._changed.add(series)

    def closed(self, tenant: str, trajectory_id: str) -> None:
        """The run has ended: its budget is of the past."""
        for finding_id in self._of_run.pop((tenant, trajectory_id), ()):
            self._drop(finding_id)

    def _drop(self, finding_id: str) -> None:
        series = self._series.pop(finding_id, None)
        if series is not None:
            del self._shares[series][finding_id]
            self._changed.add(series)

    def show(self) -> None:
        """Bring the registry up to date: at a scrape, as looking for the highest of many is too dear for each change."""
        for series in self._changed:
            service, agent, scope, metric = series
            highest = max(self._shares[series].values(), default=0.0)
            self._metrics.set(NAME, highest, service=service, agent=agent, scope=scope, metric=metric)
            if not self._shares[series]:
                del self._shares[series]
        self._changed.clear()
