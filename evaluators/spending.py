"""What the calls of a scope have used up so far: turns, calls, tokens, money and time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from operator import add, attrgetter, ge
from typing import Literal, NamedTuple

from trailhound.evaluators.base import EXECUTED, MAX_EVIDENCE, Part, Ref
from trailhound.model import Step, Usage

Metric = Literal[
    "turns", "tool_calls", "tokens", "fresh_tokens", "cached_tokens", "reasoning_tokens", "cost_usd", "duration"
]
METRICS: tuple[Metric, ...] = (
    "turns", "tool_calls", "tokens", "fresh_tokens", "cached_tokens", "reasoning_tokens", "cost_usd", "duration"
)  # fmt: skip
TURNS, TOOL_CALLS, TOKENS, FRESH_TOKENS, CACHED_TOKENS, REASONING_TOKENS, COST_USD, DURATION = range(len(METRICS))
"""The place of each in sums."""
Amount = int | Decimal
Sums = Sequence[Amount]
"""One for each of METRICS, duration in nanoseconds."""
BOUNDLESS: Sums = tuple(Decimal(2**63) if metric == "cost_usd" else 2**63 for metric in METRICS)
_NOTHING: list[Amount] = [Decimal(0) if metric == "cost_usd" else 0 for metric in METRICS]
_UNKNOWN = Usage()
_END = attrgetter("end_ns")
MODEL_KINDS = ("llm", "embedding")
MAX_RUNS = 256
"""Runs of a session or agent whose duration is followed at once; of earlier ones the sum is kept."""


def reaches(sums: Sums, near: Sums) -> bool:
    """Whether any of the sums is as large as what stands in its place; at the price of one loop in C."""
    return any(map(ge, sums, near))


class Gain(NamedTuple):
    """What steps add to the sums, and their calls."""

    sums: Sums
    models: list[Ref]
    tools: list[Ref]


@dataclass(slots=True)
class Spending(Part):
    """Sums over the calls taken so far; duration from each run's first start to its last end."""

    sums: list[Amount] = field(default_factory=_NOTHING.copy)
    rollups: int = 0
    """Containers that stood in for calls which carry no usage themselves."""
    first_ns: int = 0
    """When the first of the calls began."""
    room: int = 0
    """Calls that are noted of each kind; 0: MAX_EVIDENCE."""
    without_usage: list[Ref] = field(default_factory=list)
    unpriced: list[Ref] = field(default_factory=list)
    models: list[Ref] = field(default_factory=list)
    """Evidence: the model calls; likewise the others."""
    tools: list[Ref] = field(default_factory=list)
    runs: dict[str, tuple[int, int]] = field(default_factory=dict)

    def used(self, metric: Metric) -> Amount:
        return self.sums[METRICS.index(metric)]

    def add(self, step: Step) -> None:
        """Take one counted step. As the run's totals do, a turn is an answered model call."""
        if not self.first_ns:
            self.first_ns = step.start_ns or step.end_ns  # 0: it is not told
        if step.kind == "tool":
            if step.status in EXECUTED:
                self.sums[TOOL_CALLS] += 1
                self._note(self.tools, step)
        elif step.usage is not None or step.kind in MODEL_KINDS:
            self._add_model(step, step.usage or _UNKNOWN)

    def _add_model(self, step: Step, usage: Usage) -> None:
        self._note(self.models, step)
        given, written, cached, sums = usage.input_tokens, usage.output_tokens, usage.cache_read_tokens or 0, self.sums
        both = (given or 0) + (written or 0)
        sums[TOKENS] += both
        sums[FRESH_TOKENS] += both - cached
        sums[CACHED_TOKENS] += cached
        sums[REASONING_TOKENS] += usage.reasoning_tokens or 0
        if step.cost_usd is not None:
            sums[COST_USD] += step.cost_usd
        if step.container and usage is not _UNKNOWN:
            self.rollups += 1
        if step.status == "ok" and step.kind in MODEL_KINDS:
            sums[TURNS] += step.kind == "llm"
            if step.cost_usd is None:
                self._note(self.unpriced, step)
            if given is None or written is None:
                self._note(self.without_usage, step)

    def add_below(self, steps: Sequence[Step], gain: Gain, near: Sums, timed_run: str | None) -> bool:
        """As `add` (and with `timed_run` as `add_time`) for steps in order that all tell their start, which add `gain`;
        none is taken unless each sum stays below `near`, as it then was all the time."""
        sums = list(map(add, self.sums, gain.sums))
        start, end = 0, 0
        if timed_run is not None:
            start, last = self.runs.get(timed_run, (steps[0].start_ns,) * 2)
            end = max(last, steps[-1].start_ns, *map(_END, steps))
            sums[DURATION] += end - last
        if reaches(sums, near):
            return False
        self.sums, self.first_ns = sums, self.first_ns or steps[0].start_ns
        room = self.room or MAX_EVIDENCE
        self.tools += gain.tools[: max(0, room - len(self.tools))]
        self.models += gain.models[: max(0, room - len(self.models))]
        if timed_run is not None:
            self._note_time(timed_run, start, end)
        return True

    def add_time(self, step: Step, run_id: str) -> None:
        """Let the run's duration grow by what this step adds; only where durations are limited.

        A step without a start, which some senders write as 0, says nothing of it.
        """
        if not step.start_ns:
            return
        end = max(step.end_ns, step.start_ns)
        start, last = self.runs.get(run_id, (step.start_ns, step.start_ns))
        if end > last:
            self.sums[DURATION] += end - last
            last = end
        self._note_time(run_id, start, last)

    def _note_time(self, run_id: str, start: int, last: int) -> None:
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
        return self.without_usage if metric.endswith("tokens") else []

    def _note(self, calls: list[Ref], step: Step) -> None:
        if len(calls) < (self.room or MAX_EVIDENCE):
            calls.append((step.trace_id, step.span_id))


def gain_of(steps: Iterable[Step]) -> Gain | None:
    """What steps add to the sums, but for their time; None where a part of it is unknown, or a sum would sink."""
    turns = tokens = cached = reasoning = 0
    prices, tools, models = list[Decimal](), list[Ref](), list[Ref]()
    for step in steps:
        kind = step.kind
        if kind == "tool":
            if step.status in EXECUTED:
                tools.append((step.trace_id, step.span_id))
            continue
        usage = step.usage
        if usage is None and kind not in MODEL_KINDS:
            continue
        price = step.cost_usd
        if usage is None or price is None or step.container:
            return None
        given, written, read = usage.input_tokens, usage.output_tokens, usage.cache_read_tokens
        if given is None or written is None:
            return None
        tokens += given + written
        if read:
            if read > given + written:
                return None
            cached += read
        if usage.reasoning_tokens:
            reasoning += usage.reasoning_tokens
        models.append((step.trace_id, step.span_id))
        prices.append(price)
        if kind == "llm" and step.status == "ok":
            turns += 1
    return Gain((turns, len(tools), tokens, tokens - cached, cached, reasoning, sum(prices), 0), models, tools)


def part_of(parts: int) -> Spending:
    """One of so many parts of a window, which together note about as many calls as one sum does."""
    return Spending(room=MAX_EVIDENCE // parts + 1)


def merged(parts: Iterable[Spending]) -> Spending:
    """The sums of all `parts` (durations are not), which follow one another in time."""
    total = Spending()
    for part in parts:
        total.sums = list(map(add, total.sums, part.sums))
        total.rollups += part.rollups
        total.first_ns = total.first_ns or part.first_ns
        for name in ("without_usage", "unpriced", "models", "tools"):
            getattr(total, name).extend(getattr(part, name))
    return total
