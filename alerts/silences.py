"""Which alerts are not told: planned maintenance from the configuration, and silences set while the daemon runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Protocol

from trailhound.alert_settings import Maintenance
from trailhound.clock import rfc3339, rfc3339_ns
from trailhound.errors import Invalid

FOREVER_NS = 2**63 - 1


class Named(Protocol):
    """What a silence or a route looks at: an alert or a finding."""

    @property
    def rule(self) -> str: ...
    @property
    def tenant(self) -> str: ...
    @property
    def service(self) -> str: ...
    @property
    def agent(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Match:
    """Globs over whole names; every list must have one that matches."""

    rules: tuple[str, ...] = ("*",)
    services: tuple[str, ...] = ("*",)
    agents: tuple[str, ...] = ("*",)
    tenants: tuple[str, ...] = ("*",)

    def __call__(self, named: Named) -> bool:
        return (
            _any(named.rule, self.rules)
            and _any(named.service, self.services)
            and _any(named.agent or "", self.agents)
            and _any(named.tenant, self.tenants)
        )


def _any(name: str, globs: Sequence[str]) -> bool:
    return any(glob == "*" or fnmatchcase(name, glob) for glob in globs)


@dataclass(frozen=True, slots=True)
class Silence:
    """Holds from `since_ns` until before `until_ns`."""

    silence_id: str
    match: Match
    since_ns: int
    until_ns: int
    reason: str
    source: str
    """`configuration` or `api`."""

    def holds(self, now_ns: int) -> bool:
        return self.since_ns <= now_ns < self.until_ns

    def document(self) -> dict[str, object]:
        return {
            "silence_id": self.silence_id,
            "rules": list(self.match.rules),
            "services": list(self.match.services),
            "agents": list(self.match.agents),
            "tenants": list(self.match.tenants),
            "since": rfc3339(self.since_ns) if self.since_ns else None,
            "until": rfc3339(self.until_ns) if self.until_ns < FOREVER_NS else None,
            "reason": self.reason,
            "source": self.source,
        }


def make(silence_id: str, wanted: Maintenance, source: str, where: str) -> Silence:
    """A silence as someone wrote it; raises Invalid naming `where` for a time that cannot be read."""
    match = Match(tuple(wanted.rules), tuple(wanted.services), tuple(wanted.agents), tuple(wanted.tenants))
    since = _time(f"{where}.since", wanted.since, 0)
    until = _time(f"{where}.until", wanted.until, FOREVER_NS)
    if until <= since:
        raise Invalid(f"{where}: `until` must be later than `since`", reason="config")
    return Silence(silence_id, match, since, until, wanted.reason, source)


def _time(where: str, text: str | None, default: int) -> int:
    if text is None:
        return default
    try:
        return rfc3339_ns(text)
    except (ValueError, OverflowError):
        raise Invalid(
            f"{where}: {text[:40]!r} is no time; write for example 2026-11-30T12:00:00Z", reason="config"
        ) from None


def configured(settings: Iterable[Maintenance]) -> list[Silence]:
    """The planned maintenance of a configuration; raises Invalid."""
    return [
        make(f"configuration-{index}", wanted, "configuration", f"alerts.silences.{index}")
        for index, wanted in enumerate(settings)
    ]


def silenced(silences: Iterable[Silence], named: Named, now_ns: int) -> bool:
    return any(silence.holds(now_ns) and silence.match(named) for silence in silences)
