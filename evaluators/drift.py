"""The rule `drift`: an agent's system prompt, tools or model are not what they were in its run before."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from trailhound.evaluators.base import Draft, Evaluator, RuleSettings, State
from trailhound.evaluators.profile import LOOKED_AT, Portrait, Portraits, Profile, by_agent, portray
from trailhound.model import Run, Step

_IN_WORDS = {"system_prompt": "system prompt", "tools": "tool definitions", "model": "model"}


@dataclass(slots=True)
class Seen(State):
    portraits: Portraits = field(default_factory=dict)


class Drift(Evaluator[RuleSettings, Seen]):
    """An agent's system prompt, tool definitions or model changed since its run before: time to run the core set.

    `info`, one finding per agent in the run, told while it goes on; `details.changed` names what, `details.before` and
    `details.after` hold the hashes and the models' names. Compared with the last run of the same tenant, service and
    agent that ended before, whatever the version string says. Only what is new counts: a run that uses one of the two
    models of the run before is no drift. Dates, times, UUIDs, white space and the order of tools are no drift; what
    either run did not record is not compared. Of an agent's model calls in a run the prompt and tools of the first four
    are looked at.
    """

    rule = "drift"
    needs = "calls"
    reads = ("llm",)
    concludes_early = True
    StateType = Seen

    def step(self, state: Seen, step: Step, run_id: str) -> None:
        portray(state.portraits, step)

    def steps(self, state: Seen, steps: Iterable[Step], run_id: str) -> None:
        portraits = state.portraits
        for step in steps:
            portrait = portraits.get(step.scope_id)
            if portrait is None:
                portray(portraits, step)
            elif portrait.calls < LOOKED_AT or step.model is not portrait.model:
                portrait.add(step)

    def conclude(self, state: Seen, run: Run) -> Iterable[Draft]:
        if run.previous is None:
            return ()
        if len(state.portraits) == 1:  # nearly always one agent, which is as it was
            (portrait,) = state.portraits.values()
            before = run.previous(portrait.first.agent or run.agent or "")
            if before is None or before == (portrait.known or portrait.profile):
                return ()
        found: list[Draft] = []
        for agent, (profile, portrait) in by_agent(state.portraits, run.agent).items():
            before = run.previous(agent)
            changed = profile.new_against(before) if before is not None and before != profile else ()
            if changed:
                found.append(_draft(agent, changed, before, profile, portrait))
        return found


def _draft(agent: str, changed: tuple[str, ...], before: Profile, after: Profile, portrait: Portrait) -> Draft:
    what = " and ".join(_IN_WORDS[part] for part in changed)
    at = portrait.first.end_ns or portrait.first.start_ns
    return Draft(
        anchor=f"agent:{agent}",
        severity="info",
        summary=f"{what} of {agent[:80] or 'the agent'} changed since its run before: time to run the core set",
        expected=f"the same {what} as in the run before",
        actual=f"another {what}",
        evidence=portrait.evidence,
        about=portrait.first,
        details={
            "agent": agent or None,
            "changed": list(changed),
            "before": {part: sorted(getattr(before, part)) for part in changed},
            "after": {part: sorted(getattr(after, part)) for part in changed},
        },
        first_ns=at,
        last_ns=at,
    )
