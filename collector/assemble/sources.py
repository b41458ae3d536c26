"""One source a session: what an agent's spans show, its log records without ids may add to and never count again."""

from __future__ import annotations

from collections.abc import Iterable

from trailhound.collector.assemble.accounting import is_call
from trailhound.collector.assemble.overheard import Key, said_order
from trailhound.collector.assemble.twins import has_usage
from trailhound.model import Step

TraceKey = tuple[str, str]
"""(tenant, trace id)"""


class Source:
    """One session: the traces of its spans, those made up for its log records, and what these say."""

    __slots__ = ("made_up", "records", "shown")

    def __init__(self) -> None:
        self.shown: dict[TraceKey, None] = {}
        self.made_up: dict[TraceKey, None] = {}
        self.records: dict[Key, Step] = {}
        """The steps that the records would be, where spans show the session."""


class Sources:
    """Sessions in memory. Spans go before `api_request` and other records that are steps of their own (SEMCONV 3)."""

    def __init__(self) -> None:
        self._sessions: dict[tuple[str, str], Source] = {}
        self._of: dict[TraceKey, dict[str, None]] = {}

    def show(self, trace: TraceKey, steps: Iterable[Step]) -> list[Source]:
        """Take spans of one trace; returns the sessions that it shows and did not show before."""
        news, shown = [], self._of.get(trace, {})
        for step in steps:
            session = step.session_id
            if session is None or session in shown or not _shows_calls(step):
                continue
            shown = self._of.setdefault(trace, {})
            shown[session] = None
            source = self._sessions.setdefault((trace[0], session), Source())
            source.shown[trace] = None
            news.append(source)
        return news

    def shows(self, record: Step) -> bool:
        """Whether spans show the session of a record that would be a step of its own."""
        source = self._sessions.get((record.tenant, record.session_id or ""))
        return source is not None and bool(source.shown)

    def tell(self, record: Step) -> list[TraceKey]:
        """Keep what a record of a shown session says; returns the traces that it may be about, unless it came before."""
        source, key = self._sessions[record.tenant, record.session_id or ""], said_order(record)
        if key in source.records:
            return []
        source.records[key] = record
        return list(source.shown)

    def make_up(self, record: Step) -> None:
        """Note that a record of a session that no span shows is a step."""
        session, trace = record.session_id or "", (record.tenant, record.trace_id)
        self._sessions.setdefault((record.tenant, session), Source()).made_up[trace] = None
        self._of.setdefault(trace, {})[session] = None

    def forget(self, trace: TraceKey) -> None:
        """A trace leaves memory."""
        for session in self._of.pop(trace, ()):
            source = self._sessions[trace[0], session]
            source.shown.pop(trace, None)
            source.made_up.pop(trace, None)
            if not source.shown and not source.made_up:
                del self._sessions[trace[0], session]


def _shows_calls(step: Step) -> bool:
    """A program around the agent, or a server that it calls, may name its session and shows nothing of what it did."""
    return has_usage(step) or (is_call(step) and not step.transport)
