"""Log records that say something of a run, as rows of `run_logs`, and back."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from trailhound.clock import rfc3339
from trailhound.collector.store.base import MAX_NS, LogRow
from trailhound.collector.store.connection import Connection
from trailhound.document import text

_SELECT = (
    "SELECT TraceId, SpanId, EventName, ServiceName, toUnixTimestamp64Nano(Timestamp), toUnixTimestamp64Nano(ReceivedAt), Raw"
    " FROM run_logs FINAL WHERE Tenant = {tenant:String} AND TraceId IN {traces:Array(String)} ORDER BY Timestamp, Id"
)


def log_row(row: LogRow) -> dict[str, Any]:
    return {
        "Tenant": text(row.tenant),
        "TraceId": row.trace_id,
        "SpanId": row.span_id,
        "Id": row.id,
        "Timestamp": rfc3339(min(row.time_ns, MAX_NS)),
        "ReceivedAt": rfc3339(min(row.received_ns, MAX_NS)),
        "ServiceName": text(row.service),
        "EventName": text(row.event_name),
        "Raw": base64.b64encode(row.raw).decode(),
    }


def load_logs(connection: Connection, tenant: str, trace_ids: Sequence[str]) -> list[LogRow]:
    """See `Store.load_logs`."""
    if not trace_ids:
        return []
    rows = connection.fetch(_SELECT, tenant=tenant, traces=list(trace_ids))
    return [
        LogRow(tenant, trace_id, span_id, event, service, int(time), int(received), base64.b64decode(raw))
        for trace_id, span_id, event, service, time, received, raw in rows
    ]
