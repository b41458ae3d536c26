"""What an earlier life of the monitor told of runs that a replay rebuilds, and this life does not find, is taken back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from trailhound.collector.exchange import Changes
from trailhound.collector.recall import Recall
from trailhound.collector.store import Listing, Store
from trailhound.collector.told import Told
from trailhound.errors import Retryable
from trailhound.model import Finding

PAGE = 500
"""Runs, sessions or findings that are asked for in one query, of which there is one a turn."""


class Amends:
    """Collects until the journal has been read to its end, and compares with the store then.

    A replay ends as the earlier life did, but on the way it may see another part of a run at a time: what that life
    had read back from the store comes in order now. A finding that stood for such a moment only, and was told, would
    stand for ever. It is taken back when all its evidence was rebuilt and nothing was heard of it in this life. One that
    was over for such a moment only is stored as it stands.
    """

    def __init__(self, told: Told, recall: Recall, store: Callable[[], Store | None]) -> None:
        self._told, self._recall, self._store = told, recall, store
        self._runs: dict[str, dict[str, None]] = {}
        self._sessions: dict[str, dict[str, None]] = {}
        self._traces: set[tuple[str, str]] = set()
        self._pages: Iterator[list[Finding]] | None = None
        self._over = False
        told.met = set()

    def note(self, changes: Changes) -> None:
        """What was told: until the comparison is over."""
        if self._over:
            return
        for live in (*changes.runs, *changes.joined):
            run = live.run
            self._runs.setdefault(run.tenant, {})[run.trajectory_id] = None
            self._traces.update((run.tenant, trace_id) for trace_id in run.trace_ids)
            if run.session_id is not None:
                self._sessions.setdefault(run.tenant, {})[run.session_id] = None

    def settle(self, take_back: Callable[[list[Finding]], object], keep: Callable[[list[Finding]], object]) -> None:
        """At the journal's end: one page of the comparison. Begins again when the store is away; waits for what is owed.

        `keep` is given what stands, and is over by what the store has of an earlier life: nobody needs to be told.
        """
        store = None if self._over or self._recall.owed else self._store()
        if store is None:
            return
        try:
            self._pages = self._pages or self._stored(store)
            page = next(self._pages, None)
        except Retryable:
            self._pages = None
            return
        if page is None:
            self._end()
            return
        take_back([replace(finding, state="resolved") for finding in page if self._is_stale(finding)])
        keep([now for finding in page if finding.state == "resolved" and (now := self._standing(finding)) is not None])

    def _end(self) -> None:
        self._over, self._pages, self._told.met = True, None, None
        self._runs, self._sessions, self._traces = {}, {}, set()

    def _standing(self, finding: Finding) -> Finding | None:
        now = self._told.last(finding.finding_id)
        return None if now is None or now.state == "resolved" else now

    def _is_stale(self, finding: Finding) -> bool:
        if finding.state == "resolved" or finding.finding_id in (self._told.met or ()):
            return False
        return all((finding.tenant, trace_id) in self._traces for trace_id, _ in finding.evidence)

    def _stored(self, store: Store) -> Iterator[list[Finding]]:
        for tenant, runs in list(self._runs.items()):
            for ids in _pages(list(runs)):
                yield store.findings_of(tenant, ids)
        for tenant, sessions in list(self._sessions.items()):
            for names in _pages(list(sessions)):
                yield from _of_sessions(store, tenant, tuple(names))


def _of_sessions(store: Store, tenant: str, names: tuple[str, ...]) -> Iterator[list[Finding]]:
    after = None
    while True:
        wanted: dict[str, str | tuple[str, ...]] = {"tenant": tenant, "scope": "session", "session_id": names}
        page = store.list_findings(Listing(wanted, after=after, limit=PAGE))
        yield page
        if len(page) < PAGE:
            return
        after = (page[-1].first_seen_ns, page[-1].finding_id)


def _pages(names: list[str]) -> Iterator[list[str]]:
    return (names[start : start + PAGE] for start in range(0, len(names), PAGE))
