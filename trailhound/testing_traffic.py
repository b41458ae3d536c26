"""Made-up traffic for tests of whole pipelines: runs of several kinds as OTLP requests, interleaved, the same for a seed."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from trailhound.testing import START_NS, any_value

CONFIG: dict[str, Any] = {
    "tools": [{"match": "issue_refund", "risk": "high"}],
    "rules": {"budget": {"run": {"turns": 10, "tokens": 1000}}},
}
"""A configuration under which every kind of run but the calm one has a finding."""
SECOND = 1_000_000_000

Call = tuple[str, str, dict[str, Any], str]
"""(operation, name, arguments, result); a result that starts with `!` is an error."""


def calls_of(number: int) -> list[Call]:
    """What the run with this number does: calm, loop, ping-pong, unapproved refund, failing tool, or many turns."""
    chat: Call = ("chat", "gpt-4o", {}, "thinking")
    kinds: list[list[Call]] = [
        [chat, ("execute_tool", "search", {"q": number}, "found"), chat],
        [chat, *[("execute_tool", "search", {"q": "same"}, "nothing")] * 5, chat],
        [chat, *[("execute_tool", "open", {"f": 1}, "text"), ("execute_tool", "close", {"f": 1}, "ok")] * 4, chat],
        [chat, ("execute_tool", "issue_refund", {"order": number, "amount": 500}, "done"), chat],
        [chat, ("execute_tool", "lookup", {"id": number}, "!timeout"), chat],
        [chat] * 12,
    ]
    return kinds[number % len(kinds)]


def spans_of(number: int, seed: int = 0) -> list[Span]:
    """The spans of one run in the order in which they end; every seventh run never ends its root."""
    rng = random.Random(seed * 1000 + number)
    trace_id, root_id = rng.randbytes(16), rng.randbytes(8)
    begin = START_NS + number * SECOND // 4
    spans = []
    for index, (operation, name, arguments, result) in enumerate(calls_of(number)):
        start = begin + (index + 1) * SECOND
        attributes: dict[str, Any] = {"gen_ai.operation.name": operation}
        if operation == "chat":
            attributes |= {"gen_ai.request.model": name, "gen_ai.provider.name": "openai"}
            attributes |= {"gen_ai.usage.input_tokens": 90, "gen_ai.usage.output_tokens": 10}
        else:
            attributes |= {"gen_ai.tool.name": name, "gen_ai.tool.call.id": f"call-{number}-{index}"}
            attributes |= {"gen_ai.tool.call.arguments": json.dumps(arguments), "gen_ai.tool.call.result": result}
        span = _span(trace_id, rng.randbytes(8), root_id, f"{operation} {name}", start, SECOND // 2, attributes)
        if result.startswith("!"):
            span.status.code = span.status.STATUS_CODE_ERROR
        spans.append(span)
    if number % 7 != 6:
        agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": f"agent{number % 2}"}
        agent |= {"gen_ai.conversation.id": f"session{number // 3}", "gen_ai.output.messages": "done"}
        spans.append(_span(trace_id, root_id, b"", "invoke_agent", begin, (len(spans) + 2) * SECOND, agent))
    return spans


def requests(runs: int, seed: int = 0, *, per_request: int = 3) -> list[bytes]:
    """Request bodies: the spans of each run in their order, a few per request, the runs interleaved."""
    rng = random.Random(seed)
    queues = [list(_parts(spans_of(number, seed), per_request)) for number in range(runs)]
    bodies: list[bytes] = []
    while queues:
        queue = rng.choice(queues[:8])  # eight runs at a time
        bodies.append(request_of(queue.pop(0)))
        queues = [q for q in queues if q]
    return bodies


def request_of(spans: list[Span], service: str = "shop") -> bytes:
    """One OTLP traces request with these spans."""
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    group.resource.attributes.add(key="service.name").value.CopyFrom(any_value(service))
    group.scope_spans.add().spans.extend(spans)
    return request.SerializeToString()


def _parts(spans: list[Span], size: int) -> Iterator[list[Span]]:
    for start in range(0, len(spans), size):
        yield spans[start : start + size]


def _span(
    trace_id: bytes, span_id: bytes, parent: bytes, name: str, start: int, lasts: int, attributes: dict[str, Any]
) -> Span:
    span = Span(trace_id=trace_id, span_id=span_id, parent_span_id=parent, name=name)
    span.start_time_unix_nano, span.end_time_unix_nano = start, start + lasts
    for key, value in attributes.items():
        span.attributes.add(key=key).value.CopyFrom(any_value(value))
    return span
