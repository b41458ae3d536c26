"""The share of failed tool calls of an agent over time: the part of the rule `tool-error` that sees all its runs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from trailhound.clock import rfc3339
from trailhound.evaluators.base import Draft, Part, Ref, State, add_evidence, ref
from trailhound.evaluators.windows import Windows, told_at
from trailhound.model import Step


@dataclass(slots=True)
class Rate(Part):
    """Calls and failures in the window that the last call fell into."""

    begin_ns: int = 0
    end_ns: int = 0
    calls: int = 0
    failed: int = 0
    evidence: tuple[Ref, ...] = field(default=())


@dataclass(frozen=True)
class FailureRate:
    """Tells when more than `most` (a share) of at least `min_calls` calls in one window failed."""

    most: float
    min_calls: int
    windows: Windows

    def take(self, state: State, rate: Rate, step: Step, *, failed: bool) -> None:
        if not rate.begin_ns <= told_at(step, rate.begin_ns) < rate.end_ns:
            self._turn_page(state, rate, step)
        rate.calls += 1
        if failed:
            rate.failed += 1
            rate.evidence = add_evidence(rate.evidence, ref(step))
        anchor = f"rate@{rate.begin_ns}"
        if rate.calls >= self.min_calls and rate.failed > self.most * rate.calls:
            state.report(self._draft(rate, anchor), step)
        elif anchor in state.findings and state.findings[anchor].state == "firing":
            state.report(replace(state.findings[anchor], state="resolved"), step)

    def _turn_page(self, state: State, rate: Rate, step: Step) -> None:
        """What was told of the last window is over."""
        for draft in [d for d in state.findings.values() if d.state == "firing"]:
            state.report(replace(draft, state="resolved"), step)
        rate.begin_ns, rate.end_ns = self.windows.of(told_at(step, rate.begin_ns))
        rate.calls, rate.failed, rate.evidence = 0, 0, ()

    def _draft(self, rate: Rate, anchor: str) -> Draft:
        share = rate.failed / rate.calls
        return Draft(
            anchor=anchor,
            severity="warning",
            summary=f"{rate.failed} of {rate.calls} tool calls of the agent failed ({share:.0%})",
            expected=f"at most {self.most:.0%} of them",
            actual=f"{share:.1%}",
            evidence=rate.evidence,
            details={
                "calls": rate.calls,
                "failed": rate.failed,
                "failure_rate": round(share, 4),
                "window_start": rfc3339(rate.begin_ns),
            },
        )
