"""The runs of a session, an agent, a user or a tenant that left memory: read from the store when a further one comes."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from trailhound.collector.assemble.life import OPEN
from trailhound.collector.exchange import Stored
from trailhound.collector.store import Listing, Store
from trailhound.model import Finding, Run, Scope, Span

log = logging.getLogger(__name__)

MAX_RUNS, MAX_SPANS = 2000, 200_000
"""Read at most, the newest first: more would hold up judging for longer than a few seconds."""
PAGE = 200


def earlier(store: Store, scope: Scope, run: Run, since_ns: int) -> Stored:
    """Spans of the runs that share the scope of `run` and started since then, and the findings of that scope.

    Raises Retryable when the store is away.
    """
    filters = filters_of(scope, run)
    spans: list[Span] = []
    runs, after, first = 0, None, None
    while True:
        page = store.list_trajectories(Listing(filters, since_ns=since_ns, after=after, limit=PAGE))
        ours = [known for known in page if _same(scope, known, run)]
        traces = {trace_id: None for known in ours for trace_id in known.trace_ids}
        first = ours[-1] if ours else first
        spans += store.load_spans(run.tenant, list(traces)) if traces else []
        runs += len(page)
        if len(page) < PAGE:
            return Stored(spans, _findings(store, scope, run, filters), first=first)
        if runs >= MAX_RUNS or len(spans) >= MAX_SPANS:
            log.warning("a %s has more than %d earlier runs: older ones are not judged with it", scope, runs)
            return Stored(spans, _findings(store, scope, run, filters), first=first)
        after = (page[-1].started_ns, page[-1].trajectory_id)


def filters_of(scope: Scope, run: Run) -> dict[str, str]:
    filters = {"tenant": run.tenant}
    if scope == "session":
        filters["session_id"] = run.session_id or ""
    elif scope == "user":
        filters["user_id"] = run.user_id or ""
    elif scope == "agent":
        filters["service"] = run.service
    return filters


def _same(scope: Scope, known: Run, run: Run) -> bool:
    return scope != "agent" or (known.agent == run.agent and (known.agent is not None or known.status not in OPEN))


def _findings(store: Store, scope: Scope, run: Run, filters: Mapping[str, str]) -> Sequence[Finding]:
    """What was told of the scope; of a user nothing, as findings do not name users."""
    if scope == "user":
        return ()
    found = store.list_findings(Listing({**filters, "scope": scope}, limit=PAGE))
    return [f for f in found if scope != "agent" or f.agent == run.agent]
