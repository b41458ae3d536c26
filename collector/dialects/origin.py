"""What the resource says of every span it sent: service, version, environment, and session or user where set there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trailhound.collector.dialects.coerce import text
from trailhound.model import Resource, Step

_MEMO_SIZE = 512


@dataclass(frozen=True, slots=True)
class Origin:
    service: str
    version: str | None
    environment: str | None
    session: str | None
    user: str | None
    tasks: tuple[tuple[str, str | None], ...]
    """(attribute key that names the run's task, what the resource has there), most trusted first."""


class Origins:
    """Reads a resource once for all the spans that share the object, as those of all requests of one sender do."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[Origin, Resource, Sequence[str]]] = {}
        """By the addresses of the resource and of the task's keys, which both are kept so that nothing else gets them."""

    def of(self, resource: Resource, task: Sequence[str]) -> Origin:
        known = self._known.get((id(resource), id(task))) or self._learn(resource, task)
        return known[0]

    def _learn(self, resource: Resource, task: Sequence[str]) -> tuple[Origin, Resource, Sequence[str]]:
        if len(self._known) >= _MEMO_SIZE:
            self._known.clear()
        known = self._known[id(resource), id(task)] = (_read(resource, task), resource, task)
        return known


def _read(resource: Resource, task: Sequence[str]) -> Origin:
    given = resource.attributes
    return Origin(
        resource.service,
        resource.service_version,
        resource.environment,
        _first(given, ("gen_ai.conversation.id", "session.id")),
        _first(given, ("user.id", "enduser.id")),
        tuple((key, text(given.get(key))) for key in task),
    )


def _first(given: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    return next((found for key in keys if (found := text(given.get(key))) is not None), None)


def identify(step: Step, facts: Mapping[str, Any], own: Mapping[str, Any], origin: Origin) -> None:
    """Set session, user, agent, task and what the resource says; the word of the span, in `own`, goes before that."""
    step.service_version, step.environment = origin.version, origin.environment
    agent, session, user = facts.get("agent"), facts.get("session"), facts.get("user")
    if agent is not None:
        step.agent = agent if agent.__class__ is str else text(agent)
    step.session_id = origin.session if session is None else text(session) or origin.session
    step.user_id = origin.user if user is None else text(user) or origin.user
    for key, shared in origin.tasks:
        step.task = text(own[key]) or shared if key in own else shared
        if step.task is not None:
            return
