"""What the calls of a scope have used up so far: turns, calls, tokens, money and time."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from trailhound.evaluators.base import MAX_EVIDENCE, Part, Ref, executed, ref
from trailhound.model import Step

Metric = Literal["turns", "tool_calls", "tokens", "fresh_tokens", "cost_usd", "duration"]
METRICS: tuple[Metric, ...] = ("turns", "tool_calls", "tokens", "fresh_tokens", "cost_usd", "duration")
MODEL_KINDS = ("llm", "embedding")
MAX_RUNS = 256
"""Runs of a session or agent whose duration is followed at once; of earlier ones the sum is kept."""


@dataclass(slots=True)
class Spending(Part):
    """Sums over the calls taken so far; duration in nanoseconds, from each run's first start to its last end."""

    turns: int = 0
    tool_calls: int = 0
    tokens: int = 0
    fresh_tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    duration: int = 0
    rollups: int = 0
    """Containers that stood in for calls which carry no usage themselves."""
    without_usage: list[Ref] = field(default_factory=list)
    unpriced: list[Ref] = field(default_factory=list)
    models: list[Ref] = field(default_factory=list)
    """Evidence: the model calls, up to MAX_EVIDENCE; likewise the others."""
    tools: list[Ref] = field(default_factory=list)
    runs: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, step: Step, run_id: str) -> None:
        """Take one counted step. As the run's totals do, a turn is an answered model call."""
        if step.kind == "tool":
            if executed(step):
                self.tool_calls += 1
                _note(self.tools, step)
        elif step.usage is not None or step.kind in MODEL_KINDS:
            self._add_model(step)
        self._add_time(step, run_id)

    def _add_model(self, step: Step) -> None:
        answered = step.kind in MODEL_KINDS and step.status == "ok"
        self.turns += step.kind == "llm" and answered
        _note(self.models, step)
        usage = step.usage
        known = usage is not None and usage.input_tokens is not None and usage.output_tokens is not None
        if usage is not None:
            both = (usage.input_tokens or 0) + (usage.output_tokens or 0)
            self.tokens += both
            self.fresh_tokens += both - (usage.cache_read_tokens or 0)
            self.rollups += step.container
        if step.cost_usd is not None:
            self.cost_usd += step.cost_usd
        elif answered:
            _note(self.unpriced, step)
        if answered and not known:
            _note(self.without_usage, step)

    def _add_time(self, step: Step, run_id: str) -> None:
        end = max(step.end_ns, step.start_ns)
        start, last = self.runs.get(run_id, (step.start_ns, step.start_ns))
        if end > last:
            self.duration += end - last
            last = end
        self.runs[run_id] = (start, last)
        if len(self.runs) > MAX_RUNS:
            del self.runs[next(iter(self.runs))]

    def evidence(self, metric: Metric) -> tuple[Ref, ...]:
        if metric == "tool_calls":
            return tuple(self.tools)
        return tuple(self.models or self.tools) if metric == "duration" else tuple(self.models)

    def unknown(self, metric: Metric) -> list[Ref]:
        """The calls whose part in `metric` cannot be known."""
        if self.rollups:
            return []
        if metric == "cost_usd":
            return self.unpriced
        return self.without_usage if metric in ("tokens", "fresh_tokens") else []


def _note(calls: list[Ref], step: Step) -> None:
    if len(calls) < MAX_EVIDENCE:
        calls.append(ref(step))
