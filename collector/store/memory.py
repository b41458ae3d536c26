"""The store's twin in memory, for tests and for judging without keeping: same contract, nothing durable."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from copy import copy, deepcopy
from typing import TypeVar

from trailhound.collector.store.base import (
    FINDING_FILTERS,
    RUN_FILTERS,
    SESSION_FILTERS,
    DeadLetter,
    Inserted,
    Listing,
    LogRow,
    Session,
    SpanRow,
    Stats,
    check_filters,
)
from trailhound.config import Retention
from trailhound.metrics import Metrics
from trailhound.model import Finding, Run, Span, Totals

_Item = TypeVar("_Item")


class MemoryStore:
    """`Store` in dictionaries; retention is ignored."""

    def __init__(
        self, dsn: str = "memory://", retention: Retention | None = None, metrics: Metrics | None = None
    ) -> None:
        self._lock = threading.RLock()
        self._tokens: set[str] = set()
        self._spans: dict[tuple[str, str, str], Span] = {}
        self._runs: dict[tuple[str, str], tuple[int, Run]] = {}
        self._findings: dict[tuple[str, str], tuple[int, Finding]] = {}
        self._letters: dict[str, DeadLetter] = {}
        self._logs: dict[tuple[str, str], LogRow] = {}

    def open(self) -> None:
        """Nothing to connect to."""

    def close(self) -> None:
        """What was written stays readable, so that a test can look at it afterwards."""

    def insert_segment(self, token: str, rows: Sequence[SpanRow]) -> Inserted:
        with self._lock:
            if token not in self._tokens:
                for received, _ in rows:
                    self._keep(received.span)
                self._tokens.add(token)
        return Inserted(len(rows))

    def _keep(self, span: Span) -> None:
        key = (span.tenant, span.trace_id, span.span_id)
        known = self._spans.get(key)
        if known is None or rank(span) >= rank(known):
            self._spans[key] = span

    def put_trajectories(self, runs: Sequence[Run], at_ns: int) -> None:
        with self._lock:
            for run in runs:
                known = self._runs.get((run.tenant, run.trajectory_id))
                if known is None or at_ns >= known[0]:
                    self._runs[run.tenant, run.trajectory_id] = (at_ns, _stored(run))

    def put_findings(self, findings: Sequence[Finding], at_ns: int) -> None:
        with self._lock:
            for finding in findings:
                known = self._findings.get((finding.tenant, finding.finding_id))
                if known is None or at_ns >= known[0]:
                    self._findings[finding.tenant, finding.finding_id] = (at_ns, deepcopy(finding))

    def put_dead_letters(self, letters: Sequence[DeadLetter]) -> None:
        with self._lock:
            self._letters.update((letter.id, letter) for letter in letters)

    def put_logs(self, rows: Sequence[LogRow]) -> None:
        with self._lock:
            self._logs.update(((row.tenant, row.id), row) for row in rows)

    def load_logs(self, tenant: str, trace_ids: Sequence[str]) -> list[LogRow]:
        wanted = set(trace_ids)
        with self._lock:
            found = [row for row in self._logs.values() if row.tenant == tenant and row.trace_id in wanted]
        return sorted(found, key=lambda row: (row.time_ns, row.id))

    def load_spans(self, tenant: str, trace_ids: Sequence[str]) -> list[Span]:
        wanted = set(trace_ids)
        with self._lock:
            found = [span for key, span in self._spans.items() if key[0] == tenant and key[1] in wanted]
        return sorted(found, key=lambda span: (span.start_ns, span.span_id))

    def get_trajectory(self, key: str, tenant: str | None = None) -> Run | None:
        with self._lock:
            runs = [run for run in self._standing() if tenant in (None, run.tenant)]
        runs.sort(key=lambda run: (run.trajectory_id != key, run.started_ns, run.trajectory_id))
        return next((run for run in runs if key == run.trajectory_id or key in run.trace_ids), None)

    def trajectories_of(self, tenant: str, keys: Sequence[str]) -> list[Run]:
        wanted = set(keys)
        with self._lock:
            runs = [run for run in self._standing() if run.tenant == tenant]
        found = [run for run in runs if run.trajectory_id in wanted or not wanted.isdisjoint(run.trace_ids)]
        return sorted(found, key=lambda run: (run.started_ns, run.trajectory_id))

    def _standing(self) -> list[Run]:
        """The runs without those that lost their traces to another one that they were joined to."""
        return [run for _, run in self._runs.values() if run.trace_ids]

    def list_trajectories(self, listing: Listing) -> list[Run]:
        check_filters(listing, RUN_FILTERS)
        with self._lock:
            runs = self._standing()
        return _page(((run.started_ns, run.trajectory_id, run) for run in runs), listing)

    def list_findings(self, listing: Listing) -> list[Finding]:
        check_filters(listing, FINDING_FILTERS)
        with self._lock:
            findings = [finding for _, finding in self._findings.values()]
        return _page(((finding.first_seen_ns, finding.finding_id, finding) for finding in findings), listing)

    def findings_of(self, tenant: str, trajectory_ids: Sequence[str]) -> list[Finding]:
        wanted = {(tenant, trajectory_id) for trajectory_id in trajectory_ids}
        with self._lock:
            found = [f for _, f in self._findings.values() if (f.tenant, f.trajectory_id) in wanted]
        return sorted(found, key=lambda finding: (finding.first_seen_ns, finding.finding_id))

    def list_sessions(self, listing: Listing) -> list[Session]:
        check_filters(listing, SESSION_FILTERS)
        groups: dict[tuple[str, str], list[Run]] = {}
        with self._lock:
            for run in self._standing():
                if run.session_id and _matches(run, listing):
                    groups.setdefault((run.tenant, run.session_id), []).append(run)
        sessions = [
            _session(sorted(runs, key=lambda run: (run.started_ns, run.trajectory_id))) for runs in groups.values()
        ]
        bare = Listing({}, listing.since_ns, listing.until_ns, listing.after, listing.limit)
        return _page(((session.started_ns, session.session_id, session) for session in sessions), bare)

    def stats(self) -> Stats:
        with self._lock:
            return Stats(len(self._spans), len(self._standing()), len(self._findings), len(self._letters))


def rank(span: Span) -> tuple[bool, int]:
    """Of two reports of a span the one with the higher rank counts: the one that ends last, else the last received."""
    return (span.end_ns > 0, span.end_ns or span.received_ns)


def _page(items: Iterable[tuple[int, str, _Item]], listing: Listing) -> list[_Item]:
    chosen = [
        (time_ns, key, item)
        for time_ns, key, item in items
        if listing.since_ns <= time_ns < listing.until_ns
        and (listing.after is None or (time_ns, key) < listing.after)
        and _matches(item, listing)
    ]
    chosen.sort(key=lambda entry: entry[:2], reverse=True)
    return [item for _, _, item in chosen[: listing.limit]]


def _matches(item: object, listing: Listing) -> bool:
    wanted = ((getattr(item, name), value) for name, value in listing.filters.items())
    return all(has == value if isinstance(value, str) else has in value for has, value in wanted)


def _session(runs: list[Run]) -> Session:
    """The session of these runs, which are in order of their start; its names are those of its first run."""
    first = runs[0]
    return Session(
        session_id=first.session_id or "",
        tenant=first.tenant,
        service=first.service,
        agent=first.agent,
        user_id=first.user_id,
        started_ns=next((run.started_ns for run in runs if run.started_ns), 0),
        ended_ns=max(run.ended_ns for run in runs),
        trajectories=len(runs),
        open=sum(run.status in ("open", "waiting") for run in runs),
        totals=Totals.over(run.totals for run in runs),
    )


def _stored(run: Run) -> Run:
    """A copy of a run, without what it was compared with."""
    bare = copy(run)
    bare.baseline = bare.previous = None
    return deepcopy(bare)
