"""One page of a table whose rows are revised: which keys it can hold is asked without FINAL, which merges all there is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trailhound.collector.store.base import MAX_NS, Listing
from trailhound.collector.store.connection import Connection

SPARE = 50
"""Versions looked at beside two for each row of a page: of most rows there is one."""
FURTHER = 4
"""So many times as many are looked at when they were too few."""
MOST = 4000
"""Versions looked at; beyond, the merged table is asked, which costs as much as it is large."""


@dataclass(frozen=True)
class Table:
    """A table that keeps the highest version of each (Tenant, `key`), and how it is listed."""

    name: str
    columns: Mapping[str, str]
    time: str
    key: str
    only: str = "true"
    """What is listed at all."""


def newest(connection: Connection, table: Table, listing: Listing) -> list[list[Any]]:
    """The rows of `columns`, in the order of lists.

    The last version of a row that belongs to the page matches by itself: so the newest of all matching versions,
    old ones too, hold every key of the page, as far back as they reach.
    """
    if listing.limit <= 0:
        return []
    count = 2 * listing.limit + SPARE
    while count <= MOST:
        versions = _versions(connection, table, listing, count)
        whole = len(versions) < count
        found = _current(connection, table, listing, versions, whole) if versions else []
        if whole or len(found) >= listing.limit:
            return found
        count *= FURTHER
    return _merged(connection, table, listing)


def _versions(connection: Connection, table: Table, listing: Listing, count: int) -> list[list[Any]]:
    """(tenant, key, time) of the newest matching versions."""
    conditions, parameters = _matching(table, listing)
    columns = f"Tenant, {table.key}, toUnixTimestamp64Nano({table.time})"
    sql = f"SELECT {columns} FROM {table.name} WHERE {' AND '.join(conditions)} {_order(table)}"
    return connection.fetch(sql, **parameters | {"limit": count})


def _current(
    connection: Connection, table: Table, listing: Listing, versions: list[list[Any]], whole: bool
) -> list[list[Any]]:
    """Those rows with a key among `versions` that match; down to the last of these when there are more."""
    conditions, parameters = _matching(table, listing)
    conditions += ["Tenant IN {tenants:Array(String)}", f"{table.key} IN {{keys:Array(String)}}"]
    parameters["tenants"] = list({tenant for tenant, _, _ in versions})
    parameters["keys"] = list({key for _, key, _ in versions})
    if not whole:
        conditions.append(
            f"({table.time}, {table.key}) >= (fromUnixTimestamp64Nano({{last:Int64}}), {{last_id:String}})"
        )
        parameters["last"], parameters["last_id"] = int(versions[-1][2]), versions[-1][1]
    return connection.fetch(select(table.columns, table.name, conditions, _order(table)), **parameters)


def _merged(connection: Connection, table: Table, listing: Listing) -> list[list[Any]]:
    """The inner query chooses by the narrow columns, the outer reads the texts of the chosen rows only."""
    conditions, parameters = _matching(table, listing)
    chosen = select({"tenant": "Tenant", "key": table.key}, table.name, conditions, _order(table))
    sql = select(table.columns, table.name, [f"(Tenant, {table.key}) IN ({chosen})"], _order(table))
    return connection.fetch(sql, **parameters)


def _matching(table: Table, listing: Listing) -> tuple[list[str], dict[str, Any]]:
    conditions, parameters = filters(listing)
    more, page = page_of(listing, table.time, table.key)
    return [table.only, *conditions, *more], parameters | page


def _order(table: Table) -> str:
    return f"ORDER BY {table.time} DESC, {table.key} DESC LIMIT {{limit:UInt64}}"


def select(columns: Mapping[str, str], table: str, conditions: list[str], rest: str) -> str:
    where = f"WHERE {' AND '.join(conditions)} " if conditions else ""
    return f"SELECT {', '.join(columns.values())} FROM {table} FINAL {where}{rest}"


def filters(listing: Listing) -> tuple[list[str], dict[str, Any]]:
    """Conditions and their parameters. A filter's name, which `check_filters` knows, is its column in other letters."""
    conditions = []
    parameters: dict[str, Any] = {}
    for name, value in listing.filters.items():
        column = "".join(part.capitalize() for part in name.split("_"))
        kind, compares = ("String", "=") if isinstance(value, str) else ("Array(String)", "IN")
        conditions.append(f"{column} {compares} {{filter_{name}:{kind}}}")
        parameters[f"filter_{name}"] = value if isinstance(value, str) else list(value)
    return conditions, parameters


def page_of(listing: Listing, time: str, key: str) -> tuple[list[str], dict[str, Any]]:
    """Conditions and their parameters, `limit` among these."""
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
