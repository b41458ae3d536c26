"""The runs of sessions, agents, users and tenants that left memory: read from the store when a further one comes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from trailhound.collector.asked import FIRST_RUNS, MAX_RUNS, Asked, value_of
from trailhound.collector.exchange import Stored
from trailhound.collector.store import Listing, LogRow, Store
from trailhound.model import Finding, Run, Scope, Span

T = TypeVar("T", Span, LogRow)

log = logging.getLogger(__name__)

MAX_SPANS = 200_000
"""Read at most of one scope: more would hold up judging for longer than a few seconds."""
PAGE = 500
TOGETHER = 200
"""Scopes whose runs are looked for in one query."""


def earlier(store: Store, asked: Sequence[Asked]) -> Iterator[tuple[Asked, Stored]]:
    """Spans of the runs that share these scopes, and the findings of each scope, in few queries for all of a kind.

    Raises Retryable when the store is away.
    """
    kinds: dict[tuple[str, ...], list[Asked]] = {}
    for each in asked:
        service = each.run.service if each.scope == "agent" else ""
        nameless = "nameless" if each.value is None else ""
        kinds.setdefault((each.scope, each.run.tenant, service, nameless), []).append(each)
    for alike in kinds.values():
        for start in range(0, len(alike), TOGETHER):
            yield from _read(store, alike[start : start + TOGETHER])


def _read(store: Store, asked: list[Asked]) -> Iterator[tuple[Asked, Stored]]:
    by_value = {each.value: each for each in asked}
    filters = filters_of(asked)
    scope, since_ns = asked[0].scope, min(each.since_ns for each in asked)
    for run in _runs(store, filters, since_ns, by_value):
        ours = by_value.get(value_of(scope, run))
        if ours is not None and ours.takes(run):
            ours.runs.append(run)
    for finding in _findings(store, scope, filters):
        ours = by_value.get(finding.session_id if scope == "session" else finding.agent if scope == "agent" else None)
        if ours is not None:
            ours.findings.append(finding)
    # of the newest runs of each scope as many as may be read
    traces = list({trace_id: None for each in asked for run in _fitting(each) for trace_id in run.trace_ids})
    spans = _by_trace(store.load_spans, asked[0].run.tenant, traces)
    logs = _by_trace(store.load_logs, asked[0].run.tenant, traces)
    for each in asked:
        own = [trace_id for run in each.runs for trace_id in run.trace_ids]
        yield (
            each,
            Stored(
                [span for trace_id in own for span in spans.get(trace_id, ())],
                each.findings,
                first=each.runs[-FIRST_RUNS:],
                logs=[row for trace_id in own for row in logs.get(trace_id, ())],
            ),
        )


def _by_trace(load: Callable[[str, Sequence[str]], Iterable[T]], tenant: str, traces: list[str]) -> dict[str, list[T]]:
    found: dict[str, list[T]] = {}
    for start in range(0, len(traces), PAGE):
        for item in load(tenant, traces[start : start + PAGE]):
            found.setdefault(item.trace_id, []).append(item)
    return found


def _fitting(asked: Asked) -> list[Run]:
    steps, fitting = 0, list[Run]()
    for run in asked.runs:
        if fitting and steps + run.totals.steps > MAX_SPANS:
            break
        fitting.append(run)
        steps += run.totals.steps
    if len(fitting) < len(asked.runs) or len(fitting) == MAX_RUNS:
        log.warning("a %s has more than %d earlier runs: older ones are not judged with it", asked.scope, len(fitting))
    return fitting


def _runs(
    store: Store, filters: Mapping[str, str | tuple[str, ...]], since_ns: int, wanted: Mapping[str | None, Asked]
) -> Iterator[Run]:
    """Newest first, until there are no more or every scope has all that it may."""
    after = None
    while any(len(each.runs) < MAX_RUNS for each in wanted.values()):
        page = store.list_trajectories(Listing(filters, since_ns=since_ns, after=after, limit=PAGE))
        yield from page
        if len(page) < PAGE:
            return
        after = (page[-1].started_ns, page[-1].trajectory_id)


def _findings(store: Store, scope: Scope, filters: Mapping[str, str | tuple[str, ...]]) -> Iterator[Finding]:
    """What was told of the scopes; of users nothing, as findings do not name users."""
    after = None
    while scope != "user":
        page = store.list_findings(Listing({**filters, "scope": scope}, after=after, limit=PAGE))
        yield from page
        if len(page) < PAGE:
            return
        after = (page[-1].first_seen_ns, page[-1].finding_id)


def filters_of(asked: Iterable[Asked]) -> dict[str, str | tuple[str, ...]]:
    """What the runs and findings of scopes that are alike have; nameless runs of a service cannot be asked for alone."""
    asked = list(asked)
    run, scope = asked[0].run, asked[0].scope
    filters: dict[str, str | tuple[str, ...]] = {"tenant": run.tenant}
    if scope == "agent":
        filters["service"] = run.service
    values = tuple(value for each in asked if (value := each.value) is not None)
    name = {"session": "session_id", "user": "user_id", "agent": "agent"}.get(scope)
    if name is not None and len(values) == len(asked):
        filters[name] = values
    return filters
