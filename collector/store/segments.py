"""Inserts one journal segment: one file, one INSERT, one part; rows that the store refuses are found and set aside."""

from __future__ import annotations

import logging
import re
import shutil
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from urllib.parse import urlsplit

from trailhound.collector.store.base import DeadLetter, Inserted, SpanRow
from trailhound.collector.store.columns import SCHEMA_FILE, STRUCTURE, insert_select
from trailhound.collector.store.connection import Connection
from trailhound.collector.store.faults import classified
from trailhound.collector.store.rows import Row, RowEncoder
from trailhound.errors import Invalid

log = logging.getLogger(__name__)

_BUFFER = 256 * 1024
_SETTINGS = {
    "input_format_protobuf_oneof_presence": 1,
    # one insert must become one block and one part, whatever its size: the token stands for the whole of it
    "max_insert_threads": 1,
    "min_insert_block_size_rows": 100_000_000,
    "min_insert_block_size_bytes": 10_000_000_000,
    "async_insert": 0,
    # copies of a span inside one segment are rare, and FINAL takes them out when reading: 6 us CPU a span saved
    "optimize_on_insert": 0,
}


class SegmentWriter:
    """Writes segments; one at a time, from any thread."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._scratch = Path(urlsplit(connection.dsn).path) / "trailhound-rows"
        self._schema = re.sub(r"^//.*\n", "", SCHEMA_FILE.read_text(encoding="utf-8"), flags=re.MULTILINE)

    def open(self) -> None:
        """Clears what a killed process left behind. Raises Retryable when the disk does not let it."""
        if self._connection.embedded:
            with classified():
                shutil.rmtree(self._scratch, ignore_errors=True)
                self._scratch.mkdir(mode=0o700, parents=True, exist_ok=True)

    def insert(self, token: str, rows: Sequence[SpanRow]) -> tuple[Inserted, list[DeadLetter]]:
        """See `Store.insert_segment`; the dead letters are for the caller to store."""
        if not re.fullmatch(r"[\w:.-]{1,100}", token, re.ASCII):
            raise Invalid(f"`{token[:100]}` is no insert token", reason="token")
        if not rows:
            return Inserted(0), []
        storable, encoded, letters = _encoded(rows)
        if storable:
            self._insert(token, storable, encoded, letters)
        return Inserted(len(rows) - len(letters), len(letters)), letters

    def _insert(self, token: str, rows: Sequence[SpanRow], encoded: list[Row], letters: list[DeadLetter]) -> None:
        """All rows under `token`; when they are refused, each half under a token of its own, down to the bad row.

        One bad row of n costs about 2 log2(n) inserts. The derived tokens depend on nothing but the rows, so a replay
        takes the same way and stores nothing twice.
        """
        try:
            self._write(token, encoded)
        except Invalid as refusal:
            if len(rows) == 1:
                self._insert_rewritten(token, rows[0], refusal, letters)
                return
            middle = len(rows) // 2
            self._insert(f"{token}.0", rows[:middle], encoded[:middle], letters)
            self._insert(f"{token}.1", rows[middle:], encoded[middle:], letters)

    def _insert_rewritten(self, token: str, row: SpanRow, refusal: Invalid, letters: list[DeadLetter]) -> None:
        """A span whose bytes are refused may still be storable as it was understood."""
        received, step = row
        try:
            self._write(f"{token}.r", [RowEncoder().rewritten(received.span, step)])
        except Invalid:
            letters.append(_letter(row, str(refusal)))

    def _write(self, token: str, encoded: list[Row]) -> None:
        if self._connection.embedded:
            self._write_file(token, chain.from_iterable(encoded))
        else:
            self._write_stream(token, b"".join(chain.from_iterable(encoded)))

    def _write_file(self, token: str, pieces: Iterable[bytes]) -> None:
        path = self._scratch / f"{token}.pb"
        try:
            with classified(), path.open("wb", buffering=_BUFFER) as file:
                file.writelines(pieces)
            settings = _SETTINGS | {"insert_deduplication_token": token, "format_schema": f"{SCHEMA_FILE}:Row"}
            clause = ", ".join(f"{name} = {_literal(value)}" for name, value in settings.items())
            source = f"file({_literal(str(path))}, 'Protobuf', {{structure:String}})"
            self._connection.command(insert_select(source, clause), token=token, structure=STRUCTURE)
        finally:
            path.unlink(missing_ok=True)

    def _write_stream(self, token: str, body: bytes) -> None:
        settings = _SETTINGS | {
            "insert_deduplication_token": token,
            "format_schema_source": "string",
            "format_schema": self._schema,
            "format_schema_message_name": "Row",
        }
        sql = insert_select(f"input({_literal(STRUCTURE)})") + " FORMAT Protobuf"
        self._connection.command(sql, data=body, settings=settings, token=token)


def _literal(value: object) -> str:
    """An SQL literal of a setting or path of ours; text from outside goes by parameter."""
    return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"


def _encoded(rows: Sequence[SpanRow]) -> tuple[Sequence[SpanRow], list[Row], list[DeadLetter]]:
    """The rows that can be written, their bytes, and a letter for each that cannot."""
    encoder = RowEncoder()
    try:
        return rows, [encoder.row(received, step) for received, step in rows], []
    except Exception:
        log.exception("a span cannot be encoded; the others are taken one by one", extra={"reason": "insert"})
    storable: list[SpanRow] = []
    encoded: list[Row] = []
    letters: list[DeadLetter] = []
    for row in rows:
        try:
            encoded.append(RowEncoder().row(*row))
        except Exception as error:  # noqa: BLE001 - told above; whatever it is, the span is set aside alone
            letters.append(_letter(row, repr(error)))
        else:
            storable.append(row)
    return storable, encoded, letters


def _letter(row: SpanRow, detail: str) -> DeadLetter:
    received, span = row[0], row[0].span
    return DeadLetter(
        span.tenant, span.received_ns, "insert", received.raw, detail[:500], "traces", span.trace_id, span.span_id
    )
