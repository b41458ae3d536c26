"""What an agent is made of, as its model calls show: system prompt, tool definitions, models; hashed without dates and ids."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from trailhound.canonical import canonical_json
from trailhound.evaluators.base import Part, Ref, ref
from trailhound.model import Step

LOOKED_AT = 4
"""Model calls of one agent in one run whose prompt and tools are hashed; later calls repeat them."""
MAX_AGENTS = 64
MAX_TEXT = 65_536
CACHED = 256
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_VARYING = re.compile(
    r"(?i)\b[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\b"
    r"|\b\d{4}-\d\d?-\d\d?(?:[T ]\d\d?:\d\d(?::\d\d(?:[.,]\d+)?)?)?(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?"
    r"|\b\d{4}/\d\d?/\d\d?\b|\b\d\d?[/.]\d\d?[/.]\d{2,4}\b|\d{4}年\d\d?月\d\d?日|星期[一二三四五六日天]"
    rf"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\b\d\d?(?:st|nd|rd|th)?(?: of)? {_MONTH}\b\.?(?:,? \d{{4}})?|\b{_MONTH}\.? \d\d?(?:st|nd|rd|th)?\b(?:,? \d{{4}})?"
    r"|\b\d\d?:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[ap]\.?m\b\.?)?(?: ?(?:UTC|GMT|[A-Z]{3,4}\b|[+-]\d\d:?\d\d))?|\b1[0-9]{9}(?:[0-9]{3}){0,3}\b"
)
"""Dates, times and UUIDs: a prompt that names today is the same prompt tomorrow."""


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
                Profile(_hash(step.system_prompt), _hash_of_tools(step.tool_definitions))
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


def _hash(value: Any) -> frozenset[str]:
    if value is None:
        return frozenset()
    return frozenset((_digest(value if isinstance(value, str) else _json(value)),))


def _hash_of_tools(value: Any) -> frozenset[str]:
    """The order of the tools does not count."""
    if not isinstance(value, list):
        return _hash(value)
    if not value:
        return frozenset()
    return frozenset((_digest("\n".join(sorted(_json(tool) for tool in value))),))


def _json(value: Any) -> str:
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:  # lone surrogates, numbers beyond 64 bits
        return canonical_json(value).decode("utf-8", "replace")


@functools.lru_cache(CACHED)
def _digest(text: str) -> str:
    same = " ".join(_VARYING.sub("~", text[:MAX_TEXT]).replace("\\n", " ").split())
    return hashlib.blake2b(same.encode("utf-8", "replace"), digest_size=8).hexdigest()
