"""What an agent is made of, as its model calls show: system prompt, tool definitions, models; hashed without dates and ids."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from trailhound.evaluators.base import Part, Ref, ref
from trailhound.makeup import prompt_hash, tools_hash
from trailhound.model import Model, Step

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

    def filled(self, before: Profile) -> Profile:
        """With the parts of `before` where nothing is known."""
        return Profile(*(ours or theirs for ours, theirs in zip(self, before, strict=True)))

    def new_against(self, before: Profile) -> tuple[str, ...]:
        """The parts in which something is new; where either is unknown nothing is."""
        parts = zip(Profile._fields, self, before, strict=True)
        return tuple(name for name, ours, theirs in parts if ours and theirs and ours - theirs)


NOTHING = Profile()
_NONE = frozenset[str]()


@dataclass(slots=True)
class Portrait(Part):
    """One agent in one run: what its calls showed, which is hashed when somebody asks."""

    first: Step
    calls: int = 0
    models: tuple[str, ...] = ()
    prompts: tuple[Any, ...] = ()
    """As they were recorded, one that repeats once."""
    tools: tuple[Any, ...] = ()
    model: Model | None = None
    """Of the last call; calls share equal ones."""
    known: Profile | None = field(default=None, compare=False)
    """The profile as it was last asked for."""

    def add(self, step: Step) -> None:
        if step.model is not self.model:
            self._add_model(step.model)
        if self.calls >= LOOKED_AT:
            return
        self.calls += 1
        prompt, tools = step.system_prompt, step.tool_definitions
        if prompt is not None and prompt not in self.prompts:
            self.prompts, self.known = (*self.prompts, prompt), None
        if tools is not None and tools not in self.tools:
            self.tools, self.known = (*self.tools, tools), None

    def _add_model(self, model: Model | None) -> None:
        self.model = model
        name = None if model is None else model.response or model.request
        if name is not None and name not in self.models and len(self.models) < LOOKED_AT:
            self.models, self.known = (*self.models, name), None

    @property
    def profile(self) -> Profile:
        if self.known is None:
            self.known = Profile(
                frozenset(filter(None, map(prompt_hash, self.prompts))) if self.prompts else _NONE,
                frozenset(filter(None, map(tools_hash, self.tools))) if self.tools else _NONE,
                _shortened(self.models),
            )
        return self.known

    @property
    def evidence(self) -> tuple[Ref, ...]:
        return (ref(self.first),)


@functools.lru_cache(4096)
def _shortened(models: tuple[str, ...]) -> frozenset[str]:
    return frozenset(name[:200] for name in models)


Portraits = dict[str, Portrait]
"""The agents of one run, by the scope of their calls: an agent's name may become known later."""


def portray(portraits: Portraits, step: Step) -> None:
    """Take a model call."""
    portrait = portraits.get(step.scope_id)
    if portrait is None:
        if len(portraits) >= MAX_AGENTS:
            return
        portrait = portraits[step.scope_id] = Portrait(step)
    portrait.add(step)


def by_agent(portraits: Portraits, unnamed: str | None) -> dict[str, tuple[Profile, Portrait]]:
    """Each agent's profile and the first of its portraits; `unnamed` is whose calls without a name are."""
    found: dict[str, tuple[Profile, Portrait]] = {}
    for portrait in portraits.values():
        name = portrait.first.agent or unnamed or ""
        known = found.get(name)
        found[name] = (portrait.profile, portrait) if known is None else (known[0].joined(portrait.profile), known[1])
    return found


def profiles_of(steps: Iterable[Step], unnamed: str | None) -> dict[str, Profile]:
    """The profile of each agent in a run's steps, which are in order."""
    portraits: Portraits = {}
    for step in steps:
        if step.kind == "llm":
            portray(portraits, step)
    return {name: profile for name, (profile, _) in by_agent(portraits, unnamed).items()}
