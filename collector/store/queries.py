"""The lists: SQL for filters, times, pages and sessions. Values from outside are parameters, never text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trailhound.collector.store.base import (
    FINDING_FILTERS,
    MAX_NS,
    RUN_FILTERS,
    SESSION_FILTERS,
    Listing,
    Session,
    check_filters,
)
from trailhound.collector.store.connection import Connection
from trailhound.collector.store.runs import FINDING_COLUMNS, RUN_COLUMNS, TOTALS, read_finding, read_run, read_session
from trailhound.model import Finding, Run

SESSION_COLUMNS = {
    "tenant": "Tenant",
    "session_id": "assumeNotNull(SessionId)",
    "first": "argMin((Service, Agent, UserId), (StartedAt, TrajectoryId))",
    "started_ns": "toUnixTimestamp64Nano(min(StartedAt) AS Start)",
    "ended_ns": "toUnixTimestamp64Nano(max(EndedAt))",
    "trajectories": "count()",
    "open": "countIf(Status IN ('open', 'waiting'))",
    **{name: f"toString(sum({column}))" for name, column in TOTALS.items()},
}


STANDING = "notEmpty(TraceIds)"
"""A run that lost its traces to another one that it was joined to is kept, without traces, and never shown."""


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
    rows = connection.fetch(_select(RUN_COLUMNS, "trajectories", conditions, order), **parameters)
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
    sql = _select(RUN_COLUMNS, "trajectories", conditions, "")
    return [read_run(row) for row in connection.fetch(sql, tenant=tenant, keys=list(keys))]


def list_trajectories(connection: Connection, listing: Listing) -> list[Run]:
    """See `Store.list_trajectories`."""
    check_filters(listing, RUN_FILTERS)
    sql, parameters = _list(RUN_COLUMNS, "trajectories", "StartedAt", "TrajectoryId", listing, STANDING)
    return [read_run(row) for row in connection.fetch(sql, **parameters)]


def list_findings(connection: Connection, listing: Listing) -> list[Finding]:
    """See `Store.list_findings`."""
    check_filters(listing, FINDING_FILTERS)
    sql, parameters = _list(FINDING_COLUMNS, "findings", "FirstSeen", "FindingId", listing)
    return [read_finding(row) for row in connection.fetch(sql, **parameters)]


def findings_of(connection: Connection, tenant: str, trajectory_ids: Sequence[str]) -> list[Finding]:
    """See `Store.findings_of`."""
    if not trajectory_ids:
        return []
    conditions = ["Tenant = {tenant:String}", "TrajectoryId IN {runs:Array(String)}"]
    sql = _select(FINDING_COLUMNS, "findings", conditions, "ORDER BY FirstSeen, FindingId")
    return [read_finding(row) for row in connection.fetch(sql, tenant=tenant, runs=list(trajectory_ids))]


def list_sessions(connection: Connection, listing: Listing) -> list[Session]:
    """See `Store.list_sessions`."""
    check_filters(listing, SESSION_FILTERS)
    conditions, parameters = _filters(listing)
    conditions += [STANDING, "SessionId != ''"]
    having, page = _page(listing, "Start", "assumeNotNull(SessionId)")
    group = f"GROUP BY Tenant, SessionId HAVING {' AND '.join(having) or 'true'} "
    order = "ORDER BY Start DESC, SessionId DESC LIMIT {limit:UInt64}"
    columns = {"tenant": "Tenant", "session_id": "SessionId", "start": "min(StartedAt) AS Start"}
    chosen = f"SELECT Tenant, SessionId FROM ({_select(columns, 'trajectories', conditions, group + order)})"
    conditions.append(f"(Tenant, SessionId) IN ({chosen})")
    rows = connection.fetch(
        _select(SESSION_COLUMNS, "trajectories", conditions, f"GROUP BY Tenant, SessionId {order}"),
        **parameters,
        **page,
    )
    return [read_session(dict(zip(SESSION_COLUMNS, row, strict=True))) for row in rows]


def _list(
    columns: Mapping[str, str], table: str, time: str, key: str, listing: Listing, only: str = "true"
) -> tuple[str, dict[str, Any]]:
    """One page: the inner query chooses by the narrow columns, the outer reads the texts of the chosen rows only."""
    conditions, parameters = _filters(listing)
    more, page = _page(listing, time, key)
    order = f"ORDER BY {time} DESC, {key} DESC LIMIT {{limit:UInt64}}"
    chosen = _select({"tenant": "Tenant", "key": key}, table, [only, *conditions, *more], order)
    return _select(columns, table, [f"(Tenant, {key}) IN ({chosen})"], order), parameters | page


def _select(columns: Mapping[str, str], table: str, conditions: list[str], rest: str) -> str:
    where = f"WHERE {' AND '.join(conditions)} " if conditions else ""
    return f"SELECT {', '.join(columns.values())} FROM {table} FINAL {where}{rest}"


def _filters(listing: Listing) -> tuple[list[str], dict[str, Any]]:
    """A filter's name, which `check_filters` knows, is its column in other letters."""
    conditions = []
    parameters: dict[str, Any] = {}
    for name, value in listing.filters.items():
        column = "".join(part.capitalize() for part in name.split("_"))
        kind, compares = ("String", "=") if isinstance(value, str) else ("Array(String)", "IN")
        conditions.append(f"{column} {compares} {{filter_{name}:{kind}}}")
        parameters[f"filter_{name}"] = value if isinstance(value, str) else list(value)
    return conditions, parameters


def _page(listing: Listing, time: str, key: str) -> tuple[list[str], dict[str, Any]]:
    conditions = []
    parameters: dict[str, Any] = {"limit": max(0, listing.limit)}
    if listing.since_ns > 0:
        conditions.append(f"{time} >= fromUnixTimestamp64Nano({{since:Int64}})")
        parameters["since"] = min(listing.since_ns, MAX_NS)
    if listing.until_ns <= MAX_NS:
        conditions.append(f"{time} < fromUnixTimestamp64Nano({{until:Int64}})")
        parameters["until"] = listing.until_ns
    if listing.after is not None:
        conditions.append(f"({time}, {key}) < (fromUnixTimestamp64Nano({{after:Int64}}), {{after_id:String}})")
        parameters["after"], parameters["after_id"] = listing.after
    return conditions, parameters
