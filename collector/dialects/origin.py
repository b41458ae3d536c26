"""What the resource says of every span it sent: service, version, environment, and session or user where set there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trailhound.collector.dialects.base import Seen
from trailhound.collector.dialects.coerce import text
from trailhound.model import Resource, Step


@dataclass(frozen=True, slots=True)
class Origin:
    service: str
    version: str | None
    environment: str | None
    session: str | None
    user: str | None


class Origins:
    """Reads a resource once for all the spans that share the object."""

    def __init__(self) -> None:
        self._last: tuple[Resource, Origin] | None = None

    def of(self, resource: Resource) -> Origin:
        last = self._last
        if last is not None and last[0] is resource:
            return last[1]
        given = resource.attributes
        origin = Origin(
            resource.service,
            resource.service_version,
            resource.environment,
            _first(given, ("gen_ai.conversation.id", "session.id")),
            _first(given, ("user.id", "enduser.id")),
        )
        self._last = (resource, origin)
        return origin


def _first(given: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    return next((found for key in keys if (found := text(given.get(key))) is not None), None)


def identify(step: Step, seen: Seen, origin: Origin, task: Sequence[str]) -> None:
    """Set service, session, user, agent and task; the span's own word goes before its resource's."""
    facts, own, shared = seen.facts, seen.span.attributes, seen.span.resource.attributes
    step.service_version, step.environment = origin.version, origin.environment
    if "agent" in facts:
        step.agent = text(facts["agent"])
    step.session_id = (text(facts["session"]) if "session" in facts else None) or origin.session
    step.user_id = (text(facts["user"]) if "user" in facts else None) or origin.user
    for key in task:
        if key in own or key in shared:
            step.task = text(own.get(key)) or text(shared.get(key))
            if step.task is not None:
                return
