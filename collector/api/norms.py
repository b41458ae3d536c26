"""The handlers of baselines: what is normal, and pinning it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from aiohttp import web

from trailhound.collector.api.asking import Asking, as_json, there
from trailhound.collector.api.query import ListQuery
from trailhound.collector.api.view import Document, Page
from trailhound.collector.api.writing import body_of, check_origin

BASELINE_FILTERS = ("baseline_id", "tenant", "service", "agent", "task")


class Baselines(Protocol):
    """The baselines (`collector.baselines`). Calls block; None is an unknown one. They raise Invalid, Retryable."""

    def page(self, query: ListQuery) -> Page: ...

    def one(self, baseline_id: str) -> Document | None: ...

    def pin(self, baseline_id: str, told: Mapping[str, Any]) -> Document | None: ...

    def unpin(self, baseline_id: str) -> Document | None: ...


class Norms(Asking):
    """Answers from `view.baselines`."""

    async def baselines(self, request: web.Request) -> web.Response:
        return await self._list(request, self._view.baselines.page, BASELINE_FILTERS)

    async def baseline(self, request: web.Request) -> web.Response:
        return await self._one(request, self._view.baselines.one, "baseline")

    async def pin(self, request: web.Request) -> web.Response:
        told, key = await body_of(request), request.match_info["id"]
        return as_json(there(await self._ask(lambda: self._view.baselines.pin(key, told)), "baseline"), status=201)

    async def unpin(self, request: web.Request) -> web.Response:
        check_origin(request)
        key = request.match_info["id"]
        return as_json(there(await self._ask(lambda: self._view.baselines.unpin(key)), "baseline"))
