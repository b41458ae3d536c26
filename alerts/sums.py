"""What was counted of calls since the last scrape, by the series that it goes to."""

from __future__ import annotations

from trailhound.metrics import Metrics
from trailhound.model import Step

UNKNOWN = "unknown"
TYPES = ("input", "output", "cache_read", "cache_write", "reasoning")
_OTHERS = ("agent_cost_usd_total", "agent_unpriced_calls_total", "agent_unmetered_calls_total")
_COST, _UNPRICED, _UNMETERED = range(len(TYPES), len(TYPES) + len(_OTHERS))


class Sums:
    """Counts go here and not to the registry, where every one costs as much as a whole step here. For one thread."""

    def __init__(self) -> None:
        self._tools: dict[tuple[str, str, str, str], int] = {}
        """By service, agent, tool and status."""
        self._models: dict[tuple[str, str, str], list[float | None]] = {}
        """Tokens of each type, then what is of `_OTHERS`, by service, agent and model; None where nothing was told."""

    def add(self, step: Step) -> None:
        """Count one call of a tool or model."""
        agent = step.agent or UNKNOWN
        if step.kind == "tool":
            name = step.tool.name if step.tool is not None else step.name
            call = (step.service, agent, name, step.status)
            self._tools[call] = self._tools.get(call, 0) + 1
            return
        model = (step.model.response or step.model.request if step.model is not None else None) or UNKNOWN
        sums = self._models.get((step.service, agent, model))
        if sums is None:
            sums = self._models[step.service, agent, model] = [None] * (len(TYPES) + len(_OTHERS))
        self._add_model(sums, step)

    def _add_model(self, sums: list[float | None], step: Step) -> None:
        usage = step.usage
        if usage is not None:
            amounts = (
                usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens,
                usage.reasoning_tokens,
            )  # fmt: skip
            for place, amount in enumerate(amounts):
                if amount:
                    sums[place] = (sums[place] or 0) + amount
        if step.cost_usd is not None:
            sums[_COST] = (sums[_COST] or 0) + float(step.cost_usd)
        elif step.status == "ok":
            sums[_UNPRICED] = (sums[_UNPRICED] or 0) + 1
        if step.status == "ok" and not step.metered:
            sums[_UNMETERED] = (sums[_UNMETERED] or 0) + 1

    def pour(self, metrics: Metrics) -> None:
        """Add everything to the registry."""
        for (service, agent, tool, status), count in self._tools.items():
            labels = {"service": service, "agent": agent, "tool": tool, "status": status}
            metrics.inc("agent_tool_calls_total", count, **labels)
        for (service, agent, model), sums in self._models.items():
            labels = {"service": service, "agent": agent, "model": model}
            for type_, amount in zip(TYPES, sums, strict=False):
                if amount is not None:
                    metrics.inc("agent_tokens_total", amount, **labels, type=type_)
            for name, amount in zip(_OTHERS, sums[len(TYPES) :], strict=True):
                if amount is not None:
                    metrics.inc(name, amount, **labels)
