"""The handlers of cases and reviews: what people do with runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from aiohttp import web

from trailhound.collector.api.asking import Asking, as_json, there
from trailhound.collector.api.query import ListQuery
from trailhound.collector.api.view import Document, Page
from trailhound.collector.api.writing import body_of

CASE_FILTERS = ("tenant", "service", "agent", "split", "family", "signature", "trajectory_id")
REVIEW_FILTERS = ("tenant", "service", "agent", "intent", "stratum", "outcome", "status", "state", "verdict", "cause")


class Cases(Protocol):
    """The folder of cases (`collector.case_shelf`). Calls block."""

    def promote(self, told: Mapping[str, Any]) -> tuple[Document, bool] | None:
        """The case and whether it was written now; None for an unknown run. Raises Invalid, Retryable."""
        ...

    def page(self, query: ListQuery) -> Page: ...

    def one(self, case_id: str) -> Document | None: ...


class Reviews(Protocol):
    """The review queue (`collector.reviews.queue`). Calls block; None is an unknown run. They raise Invalid, Retryable."""

    def page(self, query: ListQuery) -> Page: ...

    def one(self, trajectory_id: str) -> Document | None: ...

    def take(self, trajectory_id: str, told: Mapping[str, Any]) -> Document | None: ...

    def judge(self, trajectory_id: str, told: Mapping[str, Any]) -> Document | None: ...

    def stats(self) -> Document: ...


class Casework(Asking):
    """Answers from `view.cases` and `view.reviews`."""

    async def cases(self, request: web.Request) -> web.Response:
        return await self._list(request, self._view.cases.page, CASE_FILTERS)

    async def case(self, request: web.Request) -> web.Response:
        return await self._one(request, self._view.cases.one, "case")

    async def promote(self, request: web.Request) -> web.Response:
        wanted = await body_of(request)
        document, written = there(await self._ask(lambda: self._view.cases.promote(wanted)), "trajectory or trace")
        return as_json(document, status=201 if written else 200)

    async def reviews(self, request: web.Request) -> web.Response:
        return await self._list(request, self._view.reviews.page, REVIEW_FILTERS)

    async def review(self, request: web.Request) -> web.Response:
        return await self._one(request, self._view.reviews.one, "sampled or reviewed run")

    async def review_stats(self, request: web.Request) -> web.Response:
        return as_json(await self._ask(self._view.reviews.stats))

    async def take_review(self, request: web.Request) -> web.Response:
        told, key = await body_of(request), request.match_info["id"]
        return as_json(there(await self._ask(lambda: self._view.reviews.take(key, told)), "trajectory"), status=201)

    async def judge_review(self, request: web.Request) -> web.Response:
        told, key = await body_of(request), request.match_info["id"]
        return as_json(there(await self._ask(lambda: self._view.reviews.judge(key, told)), "trajectory"), status=201)
