"""The rows of a sealed segment, read from the journal again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from trailhound.collector.decode import decode_logs, decode_traces
from trailhound.collector.dialects import read
from trailhound.collector.journal import JournalReader, Position
from trailhound.collector.overhear import told_by
from trailhound.collector.store import LogRow, SpanRow
from trailhound.config import Config
from trailhound.errors import Invalid
from trailhound.model import Record

READ_BYTES = 4 * 2**20


def segment_rows(config: Config, reader: JournalReader, segment: int) -> list[SpanRow]:
    """Every span of the segment that is new in it or ends later than its report before; raises OSError.

    Unlike the watch this does not know spans of earlier segments: the store merges those.
    """
    ended: dict[tuple[str, str, str], int] = {}
    rows: list[SpanRow] = []
    for record in _records(reader, segment):
        new, replaced = list[SpanRow](), list[SpanRow]()
        for row in _decoded(config, record):
            span = row[0].span
            key = (span.tenant, span.trace_id, span.span_id)
            known = ended.get(key)
            if known is None or row[1].end_ns > known:
                (new if known is None else replaced).append(row)
                ended[key] = row[1].end_ns
        rows += new + replaced
    return rows


def segment_logs(config: Config, reader: JournalReader, segment: int) -> list[LogRow]:
    """Every log record of the segment that says something of a run; raises OSError."""
    found = []
    for record in _records(reader, segment):
        if record.signal == "logs":
            with suppress(Invalid):  # the pump has set the record aside as a dead letter
                found += [told_by(entry, config.runs.task).row() for entry in decode_logs(record)]
    return [row for row in found if row is not None]


def _records(reader: JournalReader, segment: int) -> Iterator[Record]:
    position = Position(segment, 0)
    while True:
        blocks = reader.read(position, READ_BYTES)
        for block in blocks:
            if block.segment != segment:
                return
            yield from block.records
        if not blocks:
            return
        position = blocks[-1].position_after


def _decoded(config: Config, record: Record) -> list[SpanRow]:
    if record.signal != "traces":
        return []
    try:
        return [(received, read(received.span, config.runs.task)) for received in decode_traces(record).spans]
    except Invalid:
        return []  # the pump has set the record aside as a dead letter
