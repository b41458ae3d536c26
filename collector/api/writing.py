"""Requests that change something: only JSON, and never from a page of another site."""

from __future__ import annotations

from urllib.parse import urlsplit

import orjson
from aiohttp import web

from trailhound.collector.api.problems import Problem


def check_origin(request: web.Request) -> None:
    """Raises Problem 403 for a request that a browser sent from a page of another origin."""
    origin = request.headers.get("Origin")
    if origin is not None and urlsplit(origin).netloc.lower() != request.headers.get("Host", "").lower():
        raise Problem(403, "requests that change something are taken from this daemon's own pages only")
    if request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
        raise Problem(403, "requests that change something are taken from this daemon's own pages only")


async def body_of(request: web.Request) -> dict[str, object]:
    """The JSON object in a request. Raises Problem: 403 as above, 415 for another type (which a form of any page could
    send), 400 for what is no object."""
    check_origin(request)
    if request.content_type != "application/json":
        raise Problem(415, "send application/json")
    try:
        body = orjson.loads(await request.read())
    except orjson.JSONDecodeError:
        raise Problem(400, "the body is no JSON") from None
    if not isinstance(body, dict):
        raise Problem(400, "the body must be a JSON object")
    return body
