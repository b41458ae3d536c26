"""Brings a database to the schema of this version: numbered SQL files, each applied once, forward only."""

from __future__ import annotations

import re
from importlib.resources import files

from trailhound.collector.store.connection import Connection
from trailhound.config import Retention
from trailhound.errors import Invalid

FOREVER_S = 50 * 365 * 86400
"""Longer is kept for good: a TTL is counted in 32-bit seconds, which end in 2106, and would wrap to the past."""

_VERSIONS = """
CREATE TABLE IF NOT EXISTS schema_version (version UInt32, name String, applied_at DateTime DEFAULT now())
ENGINE = ReplacingMergeTree ORDER BY version
"""


def migrations() -> list[tuple[int, str, list[str]]]:
    """(number, name, statements) of every file in schema/, in order."""
    found = []
    for entry in files(__package__).joinpath("schema").iterdir():
        match = re.fullmatch(r"(\d{4})_(\w+)\.sql", entry.name)
        if match:
            statements = [part.strip() for part in re.split(r";\s*(?:\n|\Z)", entry.read_text(encoding="utf-8"))]
            found.append((int(match[1]), match[2], [statement for statement in statements if statement]))
    return sorted(found)


def migrate(connection: Connection) -> None:
    """Apply what is missing. Statements are idempotent, so two processes may start at once, or one start again half way.

    Raises Invalid(reason="schema") when the database is newer than this code.
    """
    connection.command(_VERSIONS)
    done = {row[0] for row in connection.fetch("SELECT version FROM schema_version")}
    known = migrations()
    newer = max(done, default=0)
    if newer > known[-1][0]:
        raise Invalid(
            f"the store's schema is version {newer}, this Trailhound knows up to {known[-1][0]}: run the newer one",
            reason="schema",
        )
    for number, name, statements in known:
        if number not in done:
            for statement in statements:
                connection.command(statement)
            connection.insert("schema_version", [{"version": number, "name": name}])


def apply_retention(connection: Connection, retention: Retention) -> None:
    """Set how long each table keeps rows, by the date they were received; rows are dropped by whole parts."""
    for table, column, seconds in (
        ("otel_traces", "ReceivedAt", retention.spans),
        ("trajectories", "UpdatedAt", retention.trajectories),
        ("findings", "UpdatedAt", retention.findings),
        ("dead_letter", "ReceivedAt", retention.spans),
        ("run_logs", "ReceivedAt", retention.spans),
    ):
        [[created]] = connection.fetch(
            "SELECT create_table_query FROM system.tables WHERE database = currentDatabase() AND name = {table:String}",
            table=table,
        )
        change = _ttl_change(created, column, seconds)
        if change:
            connection.command(f"ALTER TABLE {table} {change} SETTINGS materialize_ttl_after_modify = 0")


def _ttl_change(created: str, column: str, seconds: float) -> str:
    """The ALTER that brings a table, made by the statement `created`, to this retention; empty when it has it."""
    if seconds > FOREVER_S:
        return "REMOVE TTL" if " TTL " in created else ""
    wanted = f"TTL toDateTime({column}) + toIntervalSecond({int(seconds)})"
    return "" if f"{wanted} " in created else f"MODIFY {wanted}"
