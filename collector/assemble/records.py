"""Where decisions in log records count: in the session that a record names, else in the run that has its trace."""

from __future__ import annotations

from dataclasses import astuple, replace

from trailhound.canonical import stable_id
from trailhound.collector.assemble.filed import Filed, Place
from trailhound.model import Approval, Step

TraceKey = tuple[str, str]
"""(tenant, trace id)"""


def filed_of(said: Step, told: tuple[Approval, ...], segment: int) -> Filed:
    """What a record tells, filed under the session and the trace that it names.

    The same word of the same moment in two sessions is two.
    """
    session, user = said.session_id or "", said.user_id or ""
    places = [(said.tenant, f"session:{session}")] if session else []
    places += [(said.tenant, f"trace:{said.trace_id}")] if said.trace_id else []
    word = stable_id(said.service, session, user, said.span_id, *map(repr, map(astuple, told)))
    loose = (said.trace_id,) if said.trace_id and not session else ()
    decisions = tuple(replace(each, user_id=said.user_id) for each in told) if loose else told
    return Filed((said.tenant, "log", word, *loose), tuple(places), said.received_ns, decisions, segment=segment, user=user)  # fmt: skip


def trace_of(filed: Filed) -> TraceKey | None:
    """The trace that a record names, and names alone: it does not say where else that trace's run is."""
    return (filed.key[0], filed.key[3]) if filed.call is None and filed.key[1] == "log" and filed.key[3:] else None


def in_run(filed: Filed, place: Place, user: str) -> Filed:
    """The same, told in a run: it counts in all traces of that, and where its session is."""
    named = next((each.user_id for each in filed.decisions), None)
    return replace(filed, places=(place, filed.places[-1]), user=named or user)
