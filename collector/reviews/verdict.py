"""What readers say of a run, and what stands when several have: pure functions of the deeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from trailhound.collector.reviews.book import Deed
from trailhound.evaluators.testset.case import Cause
from trailhound.evaluators.testset.numbers import weighted_completion
from trailhound.section import Section

State = Literal["waiting", "taken", "second", "reviewed", "agreed", "disputed"]
Answer = Literal["yes", "no", "unclear"]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]


class Items(Section):
    """The five questions that a reader answers of every run."""

    goal_reachable: Answer = Field(description="could the task be done with what the agent had")
    steps_supported: Answer = Field(description="does each step follow from what was known by then")
    tool_calls_correct: Answer = Field(description="the right tools with the right arguments")
    context_used: Answer = Field(description="was what the context and the tools said made use of")
    ending_reasonable: Answer = Field(description="did it stop where and as it should")


class Judged(Section):
    """One reader's verdict: S succeeded, P partly, F failed."""

    by: Name
    verdict: Literal["S", "P", "F"]
    items: Items
    cause: Cause | None = Field(None, description="what was at fault; needed for P and F")
    reason: str = Field("", max_length=4000, description="why; needed for P and F")

    @model_validator(mode="after")
    def _attributed(self) -> Judged:
        if self.verdict == "S" and self.cause is not None:
            raise ValueError("`cause` says what was at fault: a run that succeeded (S) has none")
        if self.verdict != "S" and (self.cause is None or not self.reason.strip()):
            raise ValueError("say `cause` (model, tool, environment or task) and `reason` for the verdicts P and F")
        return self


class Taken(Section):
    """Who reads the run now."""

    by: Name


@dataclass
class Standing:
    """What stands of one run."""

    state: State = "waiting"
    verdict: str | None = None
    """None while nobody has judged, or where readers disagree."""
    cause: str | None = None
    taken_by: str | None = None
    latest: list[Deed] = field(default_factory=list)
    """The last judgement of each reader, in the order of their first."""


def standing(deeds: Sequence[Deed], now_ns: int, hold_ns: int, *, second: bool) -> Standing:
    """What the deeds of one run, in order, come to. `second`: the run is one that asks for two readers.

    Readers who all say the same agree; of three or more the majority decides; else they disagree and nothing stands.
    """
    latest: dict[str, Deed] = {}
    taken: Deed | None = None
    for deed in deeds:
        if deed.what == "judged":
            latest[deed.reader] = deed
        taken = deed if deed.what == "took" else None if taken and taken.reader == deed.reader else taken
    found = Standing(latest=list(latest.values()))
    if taken is not None and now_ns < taken.at_ns + hold_ns:
        found.taken_by = taken.reader
    _decide(found, second)
    if found.taken_by is not None and found.state in ("waiting", "second"):
        found.state = "taken"
    return found


def _decide(found: Standing, second: bool) -> None:
    said = Counter((deed.said["verdict"], deed.said.get("cause")) for deed in found.latest)
    if not said:
        return
    (verdict, cause), times = said.most_common(1)[0]
    if times * 2 <= len(found.latest) and len(found.latest) > 1:
        found.state = "disputed"
        return
    found.verdict, found.cause = verdict, cause
    found.state = "agreed" if len(found.latest) > 1 else "second" if second else "reviewed"


@dataclass
class Tally:
    """Verdicts of some runs."""

    S: int = 0
    P: int = 0
    F: int = 0
    by_cause: Counter[str] = field(default_factory=Counter)

    def add(self, verdict: str, cause: str | None) -> None:
        setattr(self, verdict, getattr(self, verdict) + 1)
        if cause is not None:
            self.by_cause[cause] += 1

    def document(self) -> dict[str, Any]:
        return {
            "runs": self.S + self.P + self.F,
            "S": self.S,
            "P": self.P,
            "F": self.F,
            "weighted_completion": weighted_completion(self.S, self.P, self.F),
            "by_cause": dict(sorted(self.by_cause.items())),
        }


def numbers(runs: Iterable[Standing]) -> dict[str, Any]:
    """Weighted completion (S + 0.5 P) / N of what stands, and by model and version.

    Models are compared by the runs that succeeded or that the model is to blame for: the fault of a tool, of the
    environment or of the task is none of the model's.
    """
    total, models = Tally(), dict[tuple[str, str, str, str], Tally]()
    pairs = agreeing = disputed = 0
    for run in runs:
        if len(run.latest) > 1:
            pairs, agreeing = pairs + 1, agreeing + (len({d.said["verdict"] for d in run.latest}) == 1)
        disputed += run.state == "disputed"
        if run.verdict is None:
            continue
        total.add(run.verdict, run.cause)
        if run.cause in (None, "model"):
            about = run.latest[-1].about
            key = (about.service, about.agent or "", about.version or "", ", ".join(about.models))
            models.setdefault(key, Tally()).add(run.verdict, run.cause)
    compared = [
        dict(zip(("service", "agent", "version", "models"), key, strict=True)) | tally.document()
        for key, tally in sorted(models.items())
    ]
    agreement = agreeing / pairs if pairs else None
    second = {"runs": pairs, "same_verdict": agreeing, "agreement": agreement, "disputed": disputed}
    return total.document() | {"second_readers": second, "models": compared}
