"""What the resource says of every span it sent: service, version, environment, and session or user where set there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trailhound.collector.dialects.coerce import text
from trailhound.model import Resource, Step


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
    """Reads a resource once for all the spans that share the object."""

    def __init__(self) -> None:
        self._resource: Resource | None = None
        self._task: Sequence[str] = ()
        self._origin = Origin("", None, None, None, None, ())

    def of(self, resource: Resource, task: Sequence[str]) -> Origin:
        if resource is not self._resource or task is not self._task:
            self._resource, self._task, self._origin = resource, task, _read(resource, task)
        return self._origin


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
