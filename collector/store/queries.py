"""The lists: SQL for filters, times, pages and sessions. Values from outside are parameters, never text."""

from __future__ import annotations

from collections.abc import Sequence

from trailhound.collector.store.base import (
    FINDING_FILTERS,
    RUN_FILTERS,
    SESSION_FILTERS,
    Listing,
    Session,
    check_filters,
)
from trailhound.collector.store.connection import Connection
from trailhound.collector.store.paging import Table, filters, newest, page_of, select
from trailhound.collector.store.runs import FINDING_COLUMNS, RUN_COLUMNS, TOTALS, read_finding, read_run, read_session
from trailhound.model import Finding, Run

_FIRST_START = "minIf(StartedAt, StartedAt != fromUnixTimestamp64Nano(0))"
"""Of the runs whose start is told, which 0 is not; 0 when none is."""
SESSION_COLUMNS = {
    "tenant": "Tenant",
    "session_id": "assumeNotNull(SessionId)",
    "first": "argMin((Service, Agent, UserId), (StartedAt, TrajectoryId))",
    "started_ns": f"toUnixTimestamp64Nano({_FIRST_START} AS Start)",
    "ended_ns": "toUnixTimestamp64Nano(max(EndedAt))",
    "trajectories": "count()",
    "open": "countIf(Status IN ('open', 'waiting'))",
    **{name: f"toString(sum({column}))" for name, column in TOTALS.items()},
}


STANDING = "notEmpty(TraceIds)"
"""A run that lost its traces to another one that it was joined to is kept, without traces, and never shown."""

RUNS = Table("trajectories", RUN_COLUMNS, "StartedAt", "TrajectoryId", STANDING)
FINDINGS = Table("findings", FINDING_COLUMNS, "FirstSeen", "FindingId")


def get_trajectory(connection: Connection, key: str, tenant: str | None) -> Run | None:
    """See `Store.get_trajectory`."""
    match = "(TrajectoryId = {key:String} OR has(TraceIds, {key:String}))"
    conditions = [STANDING, match]
    parameters = {"key": key}
    if tenant is not None:
        conditions.append("Tenant = {tenant:String}")
        parameters["tenant"] = tenant
    # without FINAL the index over TraceIds finds all versions of a run; the outer query looks at the one that counts
    found = f"SELECT Tenant, TrajectoryId FROM trajectories WHERE {match}"
    conditions.append(f"(Tenant, TrajectoryId) IN ({found})")
    order = "ORDER BY TrajectoryId != {key:String}, StartedAt, TrajectoryId LIMIT 1"
    rows = connection.fetch(select(RUN_COLUMNS, "trajectories", conditions, order), **parameters)
    return read_run(rows[0]) if rows else None


def trajectories_of(connection: Connection, tenant: str, keys: Sequence[str]) -> list[Run]:
    """See `Store.trajectories_of`. By the primary key first: only what that does not find is looked for by trace."""
    found = _matching(connection, tenant, keys, "TrajectoryId IN {keys:Array(String)}")
    known = {run.trajectory_id for run in found} | {trace_id for run in found for trace_id in run.trace_ids}
    found += _matching(connection, tenant, [key for key in keys if key not in known], "hasAny(TraceIds, {keys:Array(String)})")  # fmt: skip
    return sorted(
        {run.trajectory_id: run for run in found}.values(), key=lambda run: (run.started_ns, run.trajectory_id)
    )


def _matching(connection: Connection, tenant: str, keys: Sequence[str], match: str) -> list[Run]:
    if not keys:
        return []
    match = f"Tenant = {{tenant:String}} AND {match}"
    conditions = [STANDING, match, f"(Tenant, TrajectoryId) IN (SELECT Tenant, TrajectoryId FROM trajectories WHERE {match})"]  # fmt: skip
    sql = select(RUN_COLUMNS, "trajectories", conditions, "")
    return [read_run(row) for row in connection.fetch(sql, tenant=tenant, keys=list(keys))]


def list_trajectories(connection: Connection, listing: Listing) -> list[Run]:
    """See `Store.list_trajectories`."""
    check_filters(listing, RUN_FILTERS)
    return [read_run(row) for row in newest(connection, RUNS, listing)]


def list_findings(connection: Connection, listing: Listing) -> list[Finding]:
    """See `Store.list_findings`."""
    check_filters(listing, FINDING_FILTERS)
    return [read_finding(row) for row in newest(connection, FINDINGS, listing)]


def findings_of(connection: Connection, tenant: str, trajectory_ids: Sequence[str]) -> list[Finding]:
    """See `Store.findings_of`. The index over TrajectoryId is of use without FINAL only, which merges the whole table."""
    if not trajectory_ids:
        return []
    of = "Tenant = {tenant:String} AND TrajectoryId IN {runs:Array(String)}"
    asked = {"tenant": tenant, "runs": list(trajectory_ids)}
    keys = [key for [key] in connection.fetch(f"SELECT DISTINCT FindingId FROM findings WHERE {of}", **asked)]
    if not keys:
        return []
    sql = select(
        FINDING_COLUMNS, "findings", [of, "FindingId IN {keys:Array(String)}"], "ORDER BY FirstSeen, FindingId"
    )
    return [read_finding(row) for row in connection.fetch(sql, keys=keys, **asked)]


def list_sessions(connection: Connection, listing: Listing) -> list[Session]:
    """See `Store.list_sessions`."""
    check_filters(listing, SESSION_FILTERS)
    conditions, parameters = filters(listing)
    conditions += [STANDING, "SessionId != ''"]
    having, page = page_of(listing, "Start", "assumeNotNull(SessionId)")
    group = f"GROUP BY Tenant, SessionId HAVING {' AND '.join(having) or 'true'} "
    order = "ORDER BY Start DESC, SessionId DESC LIMIT {limit:UInt64}"
    columns = {"tenant": "Tenant", "session_id": "SessionId", "start": f"{_FIRST_START} AS Start"}
    chosen = f"SELECT Tenant, SessionId FROM ({select(columns, 'trajectories', conditions, group + order)})"
    conditions.append(f"(Tenant, SessionId) IN ({chosen})")
    rows = connection.fetch(
        select(SESSION_COLUMNS, "trajectories", conditions, f"GROUP BY Tenant, SessionId {order}"),
        **parameters,
        **page,
    )
    return [read_session(dict(zip(SESSION_COLUMNS, row, strict=True))) for row in rows]
