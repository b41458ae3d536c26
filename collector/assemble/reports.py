"""One model call that two traces report: a framework's span inside its trace, a client's at the top of a trace of its own.

LangChain's callbacks do not make their spans current, so that the span which an instrumentation of the model client
makes for the same call starts a trace (OpenInference 2026, LangChain with OpenAI). The provider's id of the answer is the
same in both, and so are the ids of the tool calls that it asks for: LangChain keeps only these of a streamed answer.
Anthropic's client makes a span of its own that names no tool call, while LangChain's of a streamed or failed call names no
answer: there only time and the tokens of the answer are left, and the one model call around it that says the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from trailhound.collector.assemble.clients import is_client, said_alike
from trailhound.collector.assemble.shared_ids import TraceKey
from trailhound.model import Step

Answer = tuple[str, str, str]
"""(tenant, service, the provider's id of the answer or of a tool call in it)"""
ALIKE = "alike "
"""Before what two spans of one call have in common where the one names no answer and the other no tool call."""
MAX_TRACES = 64
"""Traces that one answer can join; an answer out of a cache is reported by many, at other times."""


class Report(NamedTuple):
    """What one trace has of an answer."""

    at_top: bool
    """Whether a span without a parent reports it."""
    start_ns: int
    trace: TraceKey
    end_ns: int
    instrumentations: frozenset[str]

    def joined(self, other: Report) -> Report:
        return Report(
            self.at_top or other.at_top,
            min(self.start_ns, other.start_ns),
            self.trace,
            max(self.end_ns, other.end_ns),
            self.instrumentations | other.instrumentations,
        )

    def doubles(self, other: Report) -> bool:
        """Whether both report one call: at the same time, by two instrumentations, at least one with nothing around it."""
        return (
            (self.at_top or other.at_top)
            and self.start_ns <= other.end_ns
            and other.start_ns <= self.end_ns
            and len(self.instrumentations | other.instrumentations) > 1
        )


class Reports:
    """The answers in the traces in memory, and who reports each."""

    def __init__(self) -> None:
        self._known: dict[Answer, Report | dict[TraceKey, Report]] = {}
        """Nearly always of one trace alone."""
        self._of: dict[TraceKey, list[Answer]] = {}
        """Each once."""

    def add(self, trace: TraceKey, models: Iterable[Step]) -> list[Answer]:
        """Take model calls of a trace; returns the answers that other traces report too, where one of them has nothing around it."""
        shared: list[Answer] = []
        ours = self._of.get(trace, [])
        for new, service, named in _reports(trace, models):
            answer = (trace[0], service, named)
            known = self._known.get(answer)
            if known is None:
                self._known[answer] = new
                ours.append(answer)
            elif isinstance(known, Report) and known.trace == trace:
                self._known[answer] = new.joined(known)
            else:
                others = {known.trace: known} if isinstance(known, Report) else known
                if _take(others, new, ours, answer):
                    self._known[answer] = others
                    if self._may_join(answer):
                        shared.append(answer)
        if ours:
            self._of[trace] = ours
        return shared

    def _may_join(self, answer: Answer) -> bool:
        known = self._known.get(answer)
        return isinstance(known, dict) and any(report.at_top for report in known.values())

    def pairs(self, answer: Answer) -> list[tuple[TraceKey, TraceKey]]:
        """The traces that an answer joins: each to the first of those that report the same call with more around it."""
        known = self._known.get(answer)
        reports = sorted(known.values()) if isinstance(known, dict) else []
        if not 1 < len(reports) <= MAX_TRACES:
            return []
        if answer[2].startswith(ALIKE):
            return _only_pairs(reports)
        found = []
        for place, report in enumerate(reports):
            first = next((other for other in reports[:place] if other.doubles(report)), None)
            if first is not None:
                found.append((first.trace, report.trace))
        return found

    def forget(self, trace: TraceKey) -> list[Answer]:
        """The trace leaves memory; returns the answers that others report still."""
        shared = []
        for answer in self._of.pop(trace, ()):
            known = self._known[answer]
            if isinstance(known, Report) or not known.keys() - {trace}:
                del self._known[answer]
                continue
            could = self._may_join(answer)
            del known[trace]
            if could:
                shared.append(answer)
        return shared

    def __len__(self) -> int:
        return len(self._known)


def _take(reports: dict[TraceKey, Report], new: Report, ours: list[Answer], answer: Answer) -> bool:
    """Let one more trace report an answer, which is one of `ours` then; False when there was no room."""
    before = reports.get(new.trace)
    if before is None and len(reports) > MAX_TRACES:
        return False
    if before is None:
        ours.append(answer)
    reports[new.trace] = new if before is None else new.joined(before)
    return True


def _only_pairs(reports: list[Report]) -> list[tuple[TraceKey, TraceKey]]:
    """Each client's trace with the one that has a call around it in time; none where several have."""
    found = []
    for report in reports:
        around = [
            o.trace for o in reports if report.at_top and not o.at_top and o.doubles(report) and _encloses(o, report)
        ]
        if len(around) == 1:
            found.append((around[0], report.trace))
    return found


def _encloses(outer: Report, inner: Report) -> bool:
    return outer.start_ns <= inner.start_ns and inner.end_ns <= outer.end_ns


@lru_cache(maxsize=256)
def _alone(instrumentation: str) -> frozenset[str]:
    return frozenset((instrumentation,))


def _reports(trace: TraceKey, models: Iterable[Step]) -> Iterator[tuple[Report, str, str]]:
    """What each model call reports, its service, and what names its answer: the provider's id, and the first call in it."""
    for step in models:
        at_top = not step.parent_span_id
        report = Report._make((at_top, step.start_ns, trace, step.end_ns, _alone(step.instrumentation)))
        if step.response_id is not None:
            yield report, step.service, step.response_id
        if step.tool_requests and step.tool_requests[0].call_id is not None:
            yield report, step.service, step.tool_requests[0].call_id
        if at_top or step.response_id is None:
            yield from ((report, step.service, name) for name in _alike(step))


def _alike(step: Step) -> Iterator[str]:
    """What a client's own span has in common with one around it that names no answer; and when, as many say the same."""
    said = said_alike(step)
    if said is None or not (step.parent_span_id or is_client(step)):
        return
    second = step.end_ns // 1_000_000_000
    for at in (second, second - 1) if step.parent_span_id else (second,):  # a client's span ends first
        yield f"{ALIKE}{said} {at}"
