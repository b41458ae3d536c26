"""What the name of a field tells of its value: a request's own id, a point in time, or a place in a list of pages."""

from __future__ import annotations

import functools
import re
from typing import Any, Literal

FieldKind = Literal["request", "time", "page", "value"]

_REQUEST = frozenset(
    "requestid reqid correlationid idempotencykey idempotencytoken clienttoken nonce traceid spanid callid toolcallid "  # noqa: SIM905
    "cachebuster cachebust nocache attempt attemptno attemptnumber retry retrycount retryno retries".split()
)
"""Fields that tell one request from the next and ask for nothing."""
_PAGE = frozenset(
    "cursor nextcursor page pagetoken nextpagetoken pagenumber pageno offset skip after before since continuation "  # noqa: SIM905
    "continuationtoken nexttoken startkey startafter lastevaluatedkey".split()
)
"""Fields that say where to go on: one that changed asks for something else, whatever it looks like."""
_EDGE = r"(?:from|to|starts?|starting|begin|beginning|ends?|ending|until|till|since|after|before|min|max|gte?|lte?)"
_BOUND = re.compile(
    rf"(?i)(?:.*[_-])?{_EDGE}|.*[a-z](?-i:From|To|Start|Begin|End|Until|Since|After|Before|Min|Max|Gte?|Lte?)"
    rf"|{_EDGE}[_-]?(?:time|date|datetime|timestamp|ts|at|day|ms|ns)"
)
"""Fields that bound what is asked for: whoever goes on to the next day or hour asks for something else."""
_TIME = re.compile(r"(?i)(?:^|_|\b)(?:ts|time|timestamp|now|epoch)$|_at$|[a-z](?:Time|Timestamp|At)$")
_EPOCH = ((10**9, 3 * 10**9), (10**12, 3 * 10**12), (10**15, 3 * 10**15), (10**18, 3 * 10**18))
"""Seconds, milliseconds, microseconds and nanoseconds since 1970, from 2001 to 2065."""


@functools.lru_cache(4096)
def kind_of(key: str) -> FieldKind:
    """`request_id`, `requestId` and `request-id` are one field; names come from models, so the memory is bounded."""
    plain = key.replace("_", "").replace("-", "").lower()
    if plain in _REQUEST:
        return "request"
    if plain in _PAGE or _BOUND.fullmatch(key):
        return "page"
    return "time" if _TIME.search(key) else "value"


def is_time(number: Any) -> bool:
    """Whether a number in a field of time can be a point in time."""
    return any(low <= number < high for low, high in _EPOCH)
