"""How handlers ask: in worker threads, lists by a strict query, single items by an id."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, TypeVar

import orjson
from aiohttp import web

from trailhound.clock import Clock
from trailhound.collector.api import query, view
from trailhound.collector.api.problems import Problem

T = TypeVar("T")


class Asking:
    """What all groups of handlers share; `workers` run the calls, which block."""

    def __init__(self, shown: view.View, clock: Clock, workers: Executor) -> None:
        self._view = shown
        self._clock = clock
        self._workers = workers

    async def _list(
        self, request: web.Request, ask: Callable[[query.ListQuery], view.Page], fields: tuple[str, ...]
    ) -> web.Response:
        wanted = query.parse(_parameters(request), fields, self._clock)
        page = await self._ask(lambda: ask(wanted))
        body: dict[str, Any] = {"items": page.items, "next_cursor": page.next.text() if page.next else None}
        return as_json(body | ({"partial": page.partial} if page.partial else {}))

    async def _one(self, request: web.Request, ask: Callable[[str], view.Document | None], what: str) -> web.Response:
        key = request.match_info["id"]
        return as_json(there(await self._ask(lambda: ask(key)), what))

    async def _ask(self, question: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._workers, question)


def there(found: T | None, what: str) -> T:
    """What was asked for; raises Problem 404 for nothing."""
    if found is None:
        raise Problem(404, f"no {what} has this id")
    return found


def as_json(body: Any, status: int = 200) -> web.Response:
    return web.Response(status=status, body=orjson.dumps(body), content_type="application/json")


def _parameters(request: web.Request) -> dict[str, str]:
    """The query as a mapping; raises Problem 400 when a name is given twice."""
    parameters = dict(request.query)
    if len(parameters) != len(request.query):
        raise Problem(400, "a parameter is given twice")
    return parameters
