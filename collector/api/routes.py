"""The routes of the API, as one table: the application and `/openapi.json` are both made from it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Literal

from aiohttp import web

from trailhound.clock import Clock
from trailhound.collector.api import view
from trailhound.collector.api.asking import Asking, as_json, there
from trailhound.collector.api.casework import CASE_FILTERS, REVIEW_FILTERS, Casework
from trailhound.collector.api.norms import BASELINE_FILTERS, Norms
from trailhound.collector.api.page import PAGE
from trailhound.collector.api.problems import Problem
from trailhound.collector.api.writing import body_of, check_origin
from trailhound.collector.store.base import FINDING_FILTERS, RUN_FILTERS, SESSION_FILTERS
from trailhound.document import ALERT_FILTERS
from trailhound.runbooks import runbooks


@dataclass(frozen=True)
class Route:
    """One address; `filters` is None where the route takes no query."""

    path: str
    handler: Callable[[web.Request], Awaitable[web.Response]]
    summary: str
    filters: tuple[str, ...] | None = None
    answer: str = "object"
    """Name of the schema in openapi.py, or a media type."""
    method: Literal["get", "post", "delete"] = "get"
    takes: str | None = None
    """Name of the schema of the body, where there is one."""


MAX_TRACES = 200
"""Traces that one request may ask for: 6.6 kB of an address, of which aiohttp reads 8."""


class Handlers(Asking):
    """Answers requests from a View, whose calls block and therefore run in `workers`."""

    def __init__(self, shown: view.View, clock: Clock, workers: Executor) -> None:
        super().__init__(shown, clock, workers)
        self._casework = Casework(shown, clock, workers)
        self._norms = Norms(shown, clock, workers)

    def table(self) -> list[Route]:
        v1 = "/api/v1"
        return [
            Route("/", self.page, "A page that links to the API", answer="text/html"),
            Route("/healthz", self.healthz, "Whether the process answers", answer="text/plain"),
            Route("/readyz", self.readyz, "Whether everything works, with the reasons when not", answer="Readiness"),
            Route("/metrics", self.metrics, "All metrics in the Prometheus text format", answer="text/plain"),
            Route("/openapi.json", self.openapi, "This description"),
            Route("/runbooks/{id}", self.runbook, "What to do about an alert, by its name or the id of its rule", answer="text/plain"),
            Route(f"{v1}/stats", self.stats, "How much is stored, and how far behind the judging is", answer="Stats"),
            Route(f"{v1}/trajectories", self.trajectories, "Runs without their steps, newest first", RUN_FILTERS, "Trajectory"),
            Route(f"{v1}/trajectories/{{id}}", self.trajectory, "One whole run, by trajectory id or trace id", answer="Trajectory"),
            Route(f"{v1}/trajectories/{{id}}/spans", self.spans, "The stored spans of a run as an OTLP request, by trajectory id or trace id", answer="application/x-protobuf"),
            Route(f"{v1}/trajectories/{{id}}/logs", self.logs, "The stored log records about a run as an OTLP request, by trajectory id or trace id", answer="application/x-protobuf"),
            Route(f"{v1}/traces", self.traces, f"Stored traces as OTLP requests: `trace_ids` of one `tenant`, at most {MAX_TRACES} with commas between", answer="Traces"),
            Route(f"{v1}/findings", self.findings, "Findings, newest first", FINDING_FILTERS, "Finding"),
            Route(f"{v1}/findings/{{id}}", self.finding, "One finding", answer="Finding"),
            Route(f"{v1}/sessions", self.sessions, "Sessions with their totals, newest first", SESSION_FILTERS, "Session"),
            Route(f"{v1}/approvals", self.approve, "Record a decision about a tool call; answered when it is on disk", answer="Approval", method="post", takes="Approval"),
            Route(f"{v1}/alerts", self.alerts, "Alerts, newest first", ALERT_FILTERS, "Alert"),
            Route(f"{v1}/alerts/{{id}}", self.alert, "One alert", answer="Alert"),
            Route(f"{v1}/silences", self.silences, "What is not told, now or later", answer="Silences"),
            Route(f"{v1}/silences", self.silence, "Silence what matches, for a time", answer="Silence", method="post", takes="NewSilence"),
            *self._casework_table(v1),
            *self._norms_table(v1),
            Route(f"{v1}/silences/{{id}}", self.unsilence, "End a silence that was set", answer="Silences", method="delete"),
        ]  # fmt: skip

    def _casework_table(self, v1: str) -> list[Route]:
        work = self._casework
        return [
            Route(f"{v1}/cases", work.cases, "Cases that were promoted here, newest first", CASE_FILTERS, "CaseHeader"),
            Route(f"{v1}/cases", work.promote, "Promote a run into a case; 200 instead of 201 when its case, or one of the same fault, is there", answer="Promoted", method="post", takes="NewCase"),
            Route(f"{v1}/cases/{{id}}", work.case, "One case, as data and as YAML", answer="Case"),
            Route(f"{v1}/reviews", work.reviews, "Runs for people to review and those that were, newest first", REVIEW_FILTERS, "Review"),
            Route(f"{v1}/reviews/stats", work.review_stats, "Weighted completion of the reviewed runs, by cause and model", answer="ReviewStats"),
            Route(f"{v1}/reviews/{{id}}", work.review, "One run's reviews and everything that was done about them", answer="Review"),
            Route(f"{v1}/reviews/{{id}}/take", work.take_review, "Take a run, so that no one else reads it now", answer="Review", method="post", takes="Taken"),
            Route(f"{v1}/reviews/{{id}}/judge", work.judge_review, "Put a reader's verdict on record", answer="Review", method="post", takes="Judgement"),
        ]  # fmt: skip

    def _norms_table(self, v1: str) -> list[Route]:
        norms = self._norms
        return [
            Route(f"{v1}/baselines", norms.baselines, "What runs of each agent and task normally need, latest first", BASELINE_FILTERS, "Baseline"),
            Route(f"{v1}/baselines/{{id}}", norms.baseline, "One baseline", answer="Baseline"),
            Route(f"{v1}/baselines/{{id}}/pin", norms.pin, "Compare runs with what is normal now until it is unpinned", answer="Baseline", method="post", takes="NewPin"),
            Route(f"{v1}/baselines/{{id}}/pin", norms.unpin, "Compare runs with the latest ones again", answer="Baseline", method="delete"),
        ]  # fmt: skip

    async def page(self, request: web.Request) -> web.Response:
        return web.Response(text=PAGE, content_type="text/html", charset="utf-8")

    async def healthz(self, request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(self, request: web.Request) -> web.Response:
        reasons = await self._ask(self._view.not_ready)
        return as_json({"ready": not reasons, "reasons": reasons}, status=503 if reasons else 200)

    async def metrics(self, request: web.Request) -> web.Response:
        accept = ",".join(request.headers.getall("Accept", []))
        exposed = await self._ask(lambda: self._view.metrics(accept))
        return web.Response(body=exposed.body, headers={"Content-Type": exposed.content_type})

    async def runbook(self, request: web.Request) -> web.Response:
        return web.Response(text=there(runbooks().get(request.match_info["id"]), "runbook"))

    async def openapi(self, request: web.Request) -> web.Response:
        from trailhound.collector.api.openapi import describe

        return as_json(describe(self.table()))

    async def stats(self, request: web.Request) -> web.Response:
        return as_json(await self._ask(self._view.stats))

    async def trajectories(self, request: web.Request) -> web.Response:
        return await self._list(request, self._view.trajectories, RUN_FILTERS)

    async def findings(self, request: web.Request) -> web.Response:
        return await self._list(request, self._view.findings, FINDING_FILTERS)

    async def sessions(self, request: web.Request) -> web.Response:
        return await self._list(request, self._view.sessions, SESSION_FILTERS)

    async def trajectory(self, request: web.Request) -> web.Response:
        return await self._one(request, self._view.trajectory, "trajectory or trace")

    async def spans(self, request: web.Request) -> web.Response:
        return await self._otlp(request, self._view.spans)

    async def logs(self, request: web.Request) -> web.Response:
        return await self._otlp(request, self._view.logs)

    async def _otlp(self, request: web.Request, ask: Callable[[str], bytes | None]) -> web.Response:
        key = request.match_info["id"]
        body = await self._ask(lambda: ask(key))
        if body is None:
            raise Problem(404, "no trajectory or trace has this id")
        return web.Response(body=body, content_type="application/x-protobuf")

    async def traces(self, request: web.Request) -> web.Response:
        tenant = request.query.get("tenant", "default")
        trace_ids = [each for each in request.query.get("trace_ids", "").split(",") if each]
        if not 0 < len(trace_ids) <= MAX_TRACES:
            raise Problem(400, f"`trace_ids`: name 1 to {MAX_TRACES} traces, with commas between")
        return as_json({"items": await self._ask(lambda: self._view.traces(tenant, trace_ids))})

    async def finding(self, request: web.Request) -> web.Response:
        return await self._one(request, self._view.finding, "finding")

    async def alerts(self, request: web.Request) -> web.Response:
        return await self._list(request, self._view.alerts, ALERT_FILTERS)

    async def alert(self, request: web.Request) -> web.Response:
        return await self._one(request, self._view.alert, "alert")

    async def silences(self, request: web.Request) -> web.Response:
        return as_json({"items": await self._ask(self._view.silences)})

    async def silence(self, request: web.Request) -> web.Response:
        wanted = await body_of(request)
        return as_json(await self._ask(lambda: self._view.silence(wanted)), status=201)

    async def approve(self, request: web.Request) -> web.Response:
        told = await body_of(request)
        return as_json(await self._ask(lambda: self._view.approve(told)), status=201)

    async def unsilence(self, request: web.Request) -> web.Response:
        check_origin(request)
        key = request.match_info["id"]
        if not await self._ask(lambda: self._view.unsilence(key)):
            raise Problem(404, "no silence that was set has this id; those of the configuration are changed there")
        return await self.silences(request)
