"""Answers the API from memory and the store: what is in memory is newer and wins."""

from __future__ import annotations

import heapq
from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from trailhound.clock import rfc3339
from trailhound.collector.api.query import ListQuery, Place
from trailhound.collector.api.view import Document, Page
from trailhound.collector.assemble.filed import Filed
from trailhound.collector.decode.encode import encode_request
from trailhound.collector.rebuild import grouped, logs_request, rebuild, stored_of
from trailhound.collector.store import Listing, Session, Store
from trailhound.collector.turn import Turn
from trailhound.collector.unsaved import Unsaved, frozen
from trailhound.collector.watch import Watch
from trailhound.config import Config
from trailhound.document import finding_document, text, totals_document, trajectory_document
from trailhound.errors import Retryable
from trailhound.model import Finding, Run, Trajectory

T = TypeVar("T")


@dataclass(frozen=True)
class Kind(Generic[T]):
    """How items of one list are told apart and sorted."""

    key: Callable[[T], tuple[str, str]]
    """(tenant, id)"""
    time_ns: Callable[[T], int]


RUNS: Kind[Run] = Kind(lambda run: (run.tenant, run.trajectory_id), lambda run: run.started_ns)
FINDINGS: Kind[Finding] = Kind(lambda f: (f.tenant, f.finding_id), lambda f: f.first_seen_ns)
SESSIONS: Kind[Session] = Kind(lambda s: (s.tenant, s.session_id), lambda s: s.started_ns)


class Reading:
    """Lists and single items. `store` gives the open store or None, `trouble` says why it cannot be asked."""

    def __init__(
        self,
        config: Config,
        watch: Watch,
        turn: Turn,
        unsaved: Unsaved,
        store: Callable[[], Store | None],
        trouble: Callable[[], str | None],
    ) -> None:
        self._config, self._watch, self._turn, self._unsaved = config, watch, turn, unsaved
        self._store, self._trouble = store, trouble

    # ------------------------------------------------------------ lists

    def trajectories(self, query: ListQuery) -> Page:
        held = {RUNS.key(run): run for run in self._unsaved.runs()}
        held |= {key: live.run for key, live in self._watch.runs.copy().items() if live.has_steps}
        chosen = self._chosen(held.values(), query)
        runs, partial = self._merged(RUNS, set(held), chosen, query, lambda s, listing: s.list_trajectories(listing))
        findings = self._findings_of(runs)
        items = [trajectory_document(Trajectory(run, [], findings.get(RUNS.key(run), [])), steps=False) for run in runs]
        return Page(items, _next(RUNS, runs, query), partial)

    def _chosen(self, held: Collection[Run], query: ListQuery) -> list[Run]:
        """A page of runs in memory. The pump works meanwhile: with many runs it takes longer than a finding may wait."""
        while True:
            shown = _page(RUNS, (run for run in held if run.trace_ids), query)
            with self._turn:
                if all(run.trace_ids for run in shown):  # else one has become part of another run since
                    return [frozen(run) for run in shown]

    def findings(self, query: ListQuery) -> Page:
        held = self._unsaved.findings()
        newer, chosen = {FINDINGS.key(f) for f in held}, _page(FINDINGS, held, query)
        found, partial = self._merged(FINDINGS, newer, chosen, query, lambda s, listing: s.list_findings(listing))
        return Page([finding_document(f) for f in found], _next(FINDINGS, found, query), partial)

    def sessions(self, query: ListQuery) -> Page:
        """From the store alone: open runs are written there every few seconds."""
        store = self._store()
        if store is None:
            raise Retryable(f"store: {self._trouble() or 'away'}")
        found = store.list_sessions(_listing(query))
        return Page([_session_document(s) for s in found], _next(SESSIONS, found, query))

    def _merged(
        self,
        kind: Kind[T],
        newer: set[tuple[str, str]],
        chosen: Sequence[T],
        query: ListQuery,
        ask: Callable[[Store, Listing], Sequence[T]],
    ) -> tuple[list[T], str | None]:
        """One page of `chosen`, from memory, and the store, but for items that are `newer`; why it may be incomplete."""
        full = len(chosen) >= query.limit > 0
        above = replace(query, since_ns=max(query.since_ns, kind.time_ns(chosen[-1]))) if full else query
        stored, partial = self._stored(kind, newer, above, ask)
        return _page(kind, [*chosen, *stored], query), partial

    def _stored(
        self, kind: Kind[T], newer: set[tuple[str, str]], query: ListQuery, ask: Callable[[Store, Listing], Sequence[T]]
    ) -> tuple[list[T], str | None]:
        """Up to a page of stored items that memory does not know better."""
        store, listing, found = self._store(), _listing(query), list[T]()
        if store is None:
            return [], f"store: {self._trouble() or 'away'}"
        while True:
            try:
                page = ask(store, listing)
            except Retryable as error:
                return found, f"store: {error}"
            found += [item for item in page if kind.key(item) not in newer]
            if len(page) < listing.limit or len(found) >= query.limit:
                return found[: query.limit], None
            listing = replace(listing, after=_place(kind, page[-1]))

    # ------------------------------------------------------------ single items

    def trajectory(self, key: str) -> Document | None:
        with self._turn:
            for held in self._watch.runs.values():
                if held.has_steps and (held.run.trajectory_id == key or key in held.run.trace_ids):
                    return trajectory_document(held.trajectory())
        store = self._need_store()
        run = store.get_trajectory(key)
        return None if run is None else trajectory_document(self._whole(store, run))

    def _whole(self, store: Store, run: Run) -> Trajectory:
        """A stored run with its steps; without them where retention has taken its spans."""
        stored = stored_of(store, run.tenant, run.trace_ids)
        made = [
            t for t in rebuild(self._config, *stored, filed=self._filed) if t.run.trajectory_id == run.trajectory_id
        ]
        findings = self._findings_of([run]).get(RUNS.key(run), [])
        if made:
            run.joins = made[0].run.joins
        return Trajectory(run, made[0].steps if made else [], findings)

    def _filed(self, run: Run) -> list[Filed]:
        with self._turn:
            return self._watch.verdicts.about(run)

    def spans(self, key: str) -> bytes | None:
        store = self._need_store()
        run = store.get_trajectory(key)
        return None if run is None else encode_request(store.load_spans(run.tenant, run.trace_ids))

    def logs(self, key: str) -> bytes | None:
        store = self._need_store()
        run = store.get_trajectory(key)
        return None if run is None else logs_request(store.load_logs(run.tenant, run.trace_ids))

    def traces(self, tenant: str, trace_ids: Sequence[str]) -> list[Document]:
        spans, logs = stored_of(self._need_store(), tenant, trace_ids)
        spans_of, logs_of = grouped(spans), grouped(logs)
        return [
            {
                "trace_id": trace_id,
                "spans": b64encode(encode_request(spans_of.get(trace_id, []))).decode(),
                "logs": b64encode(logs_request(logs_of.get(trace_id, []))).decode(),
            }
            for trace_id in dict.fromkeys(trace_ids)
        ]

    def finding(self, finding_id: str) -> Document | None:
        for finding in self._unsaved.findings():
            if finding.finding_id == finding_id:
                return finding_document(finding)
        found = self._need_store().list_findings(Listing({"finding_id": finding_id}, limit=1))
        return finding_document(found[0]) if found else None

    def stats(self) -> Document:
        stored = self._need_store().stats()
        return {
            "spans": stored.spans,
            "trajectories": stored.trajectories,
            "findings": stored.findings,
            "dead_letter": stored.dead_letter,
        }

    def _need_store(self) -> Store:
        store = self._store()
        if store is None:
            raise Retryable(f"store: {self._trouble() or 'away'}")
        return store

    def _findings_of(self, runs: Iterable[Run]) -> dict[tuple[str, str], list[Finding]]:
        """The findings of each run, by its key."""
        found: dict[tuple[str, str], list[Finding]] = {}
        asked: dict[str, list[str]] = {}
        with self._turn:
            for run in runs:
                held = self._watch.runs.get(RUNS.key(run))
                if held is not None:
                    found[RUNS.key(run)] = list(held.findings)
                else:
                    asked.setdefault(run.tenant, []).append(run.trajectory_id)
        store = self._store()
        for tenant, ids in asked.items() if store is not None else ():
            assert store is not None
            for finding in store.findings_of(tenant, ids):
                found.setdefault((tenant, finding.trajectory_id or ""), []).append(finding)
        return found


def _page(kind: Kind[T], items: Iterable[T], query: ListQuery) -> list[T]:
    """The newest items that were asked for."""
    matching = (item for item in items if _matches(kind, item, query))
    return heapq.nlargest(query.limit, matching, key=lambda item: _place(kind, item))


def _matches(kind: Kind[T], item: T, query: ListQuery) -> bool:
    after = (query.after.time_ns, query.after.id) if query.after is not None else None
    return (
        query.since_ns <= kind.time_ns(item) < query.until_ns
        and (after is None or _place(kind, item) < after)
        and all(getattr(item, name) == value for name, value in query.filters.items())
    )


def _place(kind: Kind[T], item: T) -> tuple[int, str]:
    return kind.time_ns(item), kind.key(item)[1]


def _next(kind: Kind[T], items: Sequence[T], query: ListQuery) -> Place | None:
    """Where the next page begins; None when this one is not full."""
    return Place(*_place(kind, items[-1])) if len(items) >= query.limit else None


def _listing(query: ListQuery) -> Listing:
    after = (query.after.time_ns, query.after.id) if query.after is not None else None
    return Listing(query.filters, query.since_ns, query.until_ns, after, query.limit)


def _session_document(session: Session) -> Document:
    return {
        "session_id": text(session.session_id),
        "tenant": text(session.tenant),
        "service": text(session.service),
        "agent": text(session.agent),
        "user_id": text(session.user_id),
        "started_at": rfc3339(session.started_ns),
        "ended_at": rfc3339(session.ended_ns) if session.ended_ns and not session.open else None,
        "trajectories": session.trajectories,
        "open": session.open,
        "totals": totals_document(session.totals),
    }
