"""What a list is asked for: `cursor`, `limit`, `since`, `until` and field filters, read strictly."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import orjson

from trailhound.clock import Clock, rfc3339_ns
from trailhound.collector.api.problems import Problem
from trailhound.notation import parse_duration

DEFAULT_LIMIT = 50
MAX_LIMIT = 1000
COMMON = ("cursor", "limit", "since", "until")
END_NS = 2**63
"""Past every time: spans hold Unix nanoseconds in 63 bits."""


@dataclass(frozen=True)
class Place:
    """Where in a list the last page ended: lists are newest first, then by id downwards."""

    time_ns: int
    id: str

    def text(self) -> str:
        """The opaque cursor of the outward contract."""
        return base64.urlsafe_b64encode(orjson.dumps([self.time_ns, self.id])).decode().rstrip("=")


@dataclass(frozen=True)
class ListQuery:
    """`since` is included, `until` is not; both are Unix nanoseconds. `filters` compare whole values."""

    limit: int = DEFAULT_LIMIT
    after: Place | None = None
    since_ns: int = 0
    until_ns: int = END_NS
    filters: Mapping[str, str] = field(default_factory=dict)


def parse(parameters: Mapping[str, str], fields: Collection[str], clock: Clock) -> ListQuery:
    """The query in a URL; raises Problem 400 that names what is wrong and what is possible."""
    unknown = sorted(set(parameters) - set(fields) - set(COMMON))
    if unknown:
        known = ", ".join((*COMMON, *sorted(fields)))
        raise Problem(400, f"unknown parameter `{unknown[0][:64]}`; known here: {known}")
    return ListQuery(
        limit=_limit(parameters.get("limit")),
        after=_place(parameters.get("cursor")),
        since_ns=_time("since", parameters.get("since"), clock, 0),
        until_ns=_time("until", parameters.get("until"), clock, END_NS),
        filters={name: parameters[name] for name in fields if name in parameters},
    )


def _limit(value: str | None) -> int:
    if value is None:
        return DEFAULT_LIMIT
    if not re.fullmatch(r"[0-9]{1,6}", value) or not 1 <= int(value) <= MAX_LIMIT:
        raise Problem(400, f"`limit` must be a number from 1 to {MAX_LIMIT}")
    return int(value)


def _place(value: str | None) -> Place | None:
    if value is None:
        return None
    try:
        time_ns, key = orjson.loads(base64.urlsafe_b64decode(value + "=" * (-len(value) % 4)))
        if type(time_ns) is int and 0 <= time_ns < END_NS and isinstance(key, str):
            return Place(time_ns, key)
    except (ValueError, TypeError, binascii.Error):
        pass
    raise Problem(400, "`cursor` must be the `next_cursor` of an earlier answer")


def _time(name: str, value: str | None, clock: Clock, default: int) -> int:
    if value is None:
        return default
    try:
        if re.fullmatch(r"[0-9].*[a-z]", value):
            return max(0, clock.now_ns() - int(parse_duration(value) * 1e9))
        return min(max(0, rfc3339_ns(value)), END_NS)
    except (ValueError, OverflowError):
        raise Problem(400, f"`{name}` must be a time like 2026-11-30T12:00:00Z or an age like 7d") from None
