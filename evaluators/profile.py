"""What an agent is made of, as its model calls show: system prompt, tool definitions, models; hashed without dates and ids."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from trailhound.evaluators.base import Part, Ref, ref
from trailhound.makeup import prompt_hash, tools_hash
from trailhound.model import Step

LOOKED_AT = 4
"""Model calls of one agent in one run whose prompt and tools are hashed; later calls repeat them."""
MAX_AGENTS = 64


class Profile(NamedTuple):
    """The hashes and names seen; an empty set is unknown."""

    system_prompt: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()
    model: frozenset[str] = frozenset()

    def joined(self, other: Profile) -> Profile:
        return Profile(*(a | b for a, b in zip(self, other, strict=True)))

    def new_against(self, before: Profile) -> tuple[str, ...]:
        """The parts in which something is new; where either is unknown nothing is."""
        parts = zip(Profile._fields, self, before, strict=True)
        return tuple(name for name, ours, theirs in parts if ours and theirs and ours - theirs)


NOTHING = Profile()


@dataclass(slots=True)
class Portrait(Part):
    """One agent in one run."""

    profile: Profile = NOTHING
    calls: int = 0
    first: Step | None = None
    evidence: tuple[Ref, ...] = ()

    def add(self, step: Step) -> None:
        if self.first is None:
            self.first, self.evidence = step, (ref(step),)
        self.calls += 1
        model = (step.model.response or step.model.request) if step.model is not None else None
        if model is not None and model not in self.profile.model and len(self.profile.model) < LOOKED_AT:
            self.profile = self.profile._replace(model=self.profile.model | {model[:200]})
        if self.calls <= LOOKED_AT and (step.system_prompt is not None or step.tool_definitions is not None):
            self.profile = self.profile.joined(
                Profile(_known(prompt_hash(step.system_prompt)), _known(tools_hash(step.tool_definitions)))
            )


@dataclass(slots=True)
class Portraits(Part):
    """The agents of one run, by the scope of their calls: an agent's name may become known later."""

    of: dict[str, Portrait] = field(default_factory=dict)

    def add(self, step: Step) -> None:
        portrait = self.of.get(step.scope_id)
        if portrait is None:
            if len(self.of) >= MAX_AGENTS:
                return
            portrait = self.of[step.scope_id] = Portrait()
        portrait.add(step)

    def by_agent(self, unnamed: str | None) -> dict[str, tuple[Profile, Portrait]]:
        """Each agent's profile and the first of its portraits; `unnamed` is whose calls without a name are."""
        found: dict[str, tuple[Profile, Portrait]] = {}
        for portrait in self.of.values():
            assert portrait.first is not None
            name = portrait.first.agent or unnamed or ""
            known = found.get(name)
            found[name] = (
                (portrait.profile, portrait) if known is None else (known[0].joined(portrait.profile), known[1])
            )
        return found


def profiles_of(steps: Iterable[Step], unnamed: str | None) -> dict[str, Profile]:
    """The profile of each agent in a run's steps, which are in order."""
    portraits = Portraits()
    for step in steps:
        if step.kind == "llm":
            portraits.add(step)
    return {name: profile for name, (profile, _) in portraits.by_agent(unnamed).items()}


def _known(hashed: str | None) -> frozenset[str]:
    return frozenset() if hashed is None else frozenset((hashed,))
