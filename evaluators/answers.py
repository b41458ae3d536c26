"""The same answer over and over: the part of the rule `loop` that looks at what the model says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from trailhound.canonical import stable_id
from trailhound.evaluators.base import Draft, Ref, State, add_evidence, ref
from trailhound.evaluators.repetition import MAX_LANES, next_anchor
from trailhound.model import Step

MAX_TEXT = 4096
"""Characters of an answer, and of the question, that are kept to compare them."""


class Answer(NamedTuple):
    """What an agent said last; replaced, never changed."""

    text: str
    question: str | None
    first: Step
    end_ns: int
    times: int = 1
    evidence: tuple[Ref, ...] = ()
    anchor: str = ""


@dataclass(frozen=True)
class Answers:
    """Counts equal answers of an agent in a row; work is one comparison of texts a model call."""

    max_repeats: int

    def take(self, state: State, said: dict[str, Answer], step: Step) -> None:
        """Take a model call; `said` holds the last answer by agent. One that asks for tools is no answer."""
        if step.status != "ok":
            return
        if step.output.__class__ is not str or not step.output or step.tool_requests:
            said.pop(step.scope_id, None)
            return
        text = step.output[:MAX_TEXT]
        question = step.input[:MAX_TEXT] if step.input.__class__ is str else None
        before = said.pop(step.scope_id, None)
        if before is None or before.text != text or before.question != question:
            said[step.scope_id] = Answer(text, question, step, step.end_ns, evidence=(ref(step),))
            if len(said) > MAX_LANES:
                del said[next(iter(said))]
            return
        own = (step.start_ns or step.end_ns) >= before.end_ns  # answers sampled at once are one
        answer = before._replace(
            times=before.times + own, end_ns=max(before.end_ns, step.end_ns), evidence=add_evidence(before.evidence, ref(step))
        )  # fmt: skip
        if answer.times > self.max_repeats:
            answer = self._tell(state, answer, step)
        said[step.scope_id] = answer

    def _tell(self, state: State, answer: Answer, step: Step) -> Answer:
        if not answer.anchor:
            answer = answer._replace(anchor=next_anchor(state.findings, stable_id("answer", answer.text)))
        draft = Draft(
            anchor=answer.anchor,
            severity="critical" if answer.times >= 2 * (self.max_repeats + 1) else "warning",
            summary=f"the model gave the same answer {answer.times} times in a row",
            expected=f"at most {self.max_repeats} equal answers",
            actual=f"{answer.times} equal answers",
            evidence=answer.evidence,
            about=answer.first,
            details={"answer": answer.text[:200], "calls": answer.times, "max_repeats": self.max_repeats},
        )
        state.report(draft, step)
        return answer
