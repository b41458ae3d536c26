"""The trial: one run of the agent on one case, its verdict, and the manifest of everything that it was made with."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal

from pydantic import Field

from trailhound.section import Section

Verdict = Literal["pass", "fail", "unknown"]
Failure = Literal[
    "contract", "answer", "end_state", "agent_error", "timeout", "crash", "measurement", "not_judged", "not_run"
]
"""Why a trial did not pass: what the agent did (the first five and `crash`), or what kept us from knowing (the rest)."""

FORMAT = "trailhound-trials/1"


class Planned(Section):
    """A trial that was announced before the first one started; it stays in the denominator whatever happens."""

    case_id: str
    number: int = Field(ge=1, description="1 to the number of trials of the case")


class CaseFacts(Section):
    """What a report must know of a case without its file."""

    family: str
    title: str = ""
    intent: str | None = None
    tags: list[str] = Field([])
    split: str = "dev"
    core: bool = False
    good_calls: list[str] | None = Field(None, description="calls of a run known to be good, see `Call.key`")


class Manifest(Section):
    """What decides a result besides the agent's luck: two results compare only where these agree, or it is said."""

    format: Literal["trailhound-trials/1"] = "trailhound-trials/1"
    dataset: str = Field(description="hash of the cases, see TestSet.digest")
    application: str | None = Field(None, description="name of what was tested")
    version: str | None = Field(None, description="its version, for example a commit")
    models: list[str] = Field([], description="as declared; those seen stand in the trials")
    tools_hash: str | None = None
    prompt_hash: str | None = None
    graders: dict[str, str] = Field({}, description="name -> version of what judges")
    trials: int = Field(ge=1, description="trials of each case")
    timeout_s: float = Field(gt=0)
    retries: int = Field(0, ge=0, description="repetitions of a trial that could not be measured")
    core_only: bool = False
    started_at: str | None = Field(None, description="RFC 3339")
    cases: dict[str, CaseFacts]
    planned: list[Planned]


class Reason(Section):
    """One reason for a verdict."""

    rule: str = Field(description="rule id, or `answer`, `end_state`, `agent`")
    text: str


class Call(Section):
    """A tool call of a trial, as far as comparing needs it."""

    tool: str
    arguments_hash: str | None = None
    status: str = "ok"

    @property
    def key(self) -> str:
        """Equal for the same tool with the same arguments."""
        return f"{self.tool} {self.arguments_hash or '-'}"


class Measured(Section):
    """What a trial used, from its trajectory; None is not known."""

    steps: int = 0
    turns: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    recovered_errors: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: Decimal | None = None
    duration_s: float | None = Field(None, description="wall time of the trial")
    models: list[str] = Field([])
    prompt_hash: str | None = None
    tools_hash: str | None = None


class TrialResult(Section):
    """What came of one trial."""

    case_id: str
    number: int
    attempt: int = Field(1, ge=1, description="1 for the first; later ones never replace it")
    verdict: Verdict
    failure: Failure | None = None
    reasons: list[Reason] = Field([])
    missing: list[str] = Field([], description="evidence that a verdict would have needed")
    measured: Measured = Measured()
    calls: list[Call] = Field([], description="the first 200 tool calls in order")
    trace_ids: list[str] = Field([])
    output: Any = None
    started_at: str | None = None


INCIDENTS = frozenset({"forbidden-tool", "approval"})
"""Rules whose breach is an incident: something was done that must not be done, whatever the rest is worth."""
