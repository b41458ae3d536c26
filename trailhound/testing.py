"""Helpers that several test files share: small makers of spans, OTLP values, steps and runs."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from opentelemetry.proto.common.v1.common_pb2 import AnyValue

from trailhound.collector.decode import Received, decode_traces
from trailhound.collector.decode.encode import encode_span
from trailhound.config import Config
from trailhound.evaluators.judge import RuleSet, ScopeJudge
from trailhound.model import Finding, InstrumentationScope, Record, Resource, Run, Scope, Span, Step, ToolCall, Usage

_MEMBER = {bool: "bool_value", int: "int_value", float: "double_value", str: "string_value", bytes: "bytes_value"}


def any_value(value: Any) -> AnyValue:
    """The OTLP AnyValue of Python data (str, bool, int, float, bytes, None, list or dict of these)."""
    made = AnyValue()
    if isinstance(value, list):
        made.array_value.values.extend(any_value(item) for item in value)
        made.array_value.SetInParent()
    elif isinstance(value, dict):
        for key, item in value.items():
            made.kvlist_value.values.add(key=key).value.CopyFrom(any_value(item))
        made.kvlist_value.SetInParent()
    elif value is not None:
        setattr(made, _MEMBER[type(value)], value)
    return made


def make_span(attributes: dict[str, Any] | None = None, **fields: Any) -> Span:
    """A finished span of 1 s with valid ids; `fields` replace any of its fields."""
    made = Span(
        tenant="default",
        trace_id="0af7651916cd43dd8448eb211c80319c",
        span_id="b7ad6b7169203331",
        parent_span_id="",
        name="span",
        kind=1,
        start_ns=1_790_000_000_000_000_000,
        end_ns=1_790_000_001_000_000_000,
        attributes=attributes or {},
        resource=Resource(),
        scope=InstrumentationScope(),
    )
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def bare_step(span: Span, **fields: Any) -> Step:
    """A step of kind `other` with the identity of `span` and nothing read from it; `fields` replace any of its fields."""
    made = Step(
        tenant=span.tenant,
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_span_id=span.parent_span_id,
        kind="other",
        name=span.name,
        start_ns=span.start_ns,
        end_ns=span.end_ns,
        status="ok",
        service=span.resource.service,
        received_ns=span.received_ns,
    )
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def store_row(span: Span, **fields: Any) -> tuple[Received, Step]:
    """What a store is given of `span`; `fields` are those of its step."""
    return Received(span, encode_span(span), b""), bare_step(span, **fields)


def store_rows(body: bytes, received_ns: int, tenant: str = "default") -> list[tuple[Received, Step]]:
    """What a store is given of a recorded traces request."""
    decoded = decode_traces(Record("traces", tenant, body, received_ns))
    return [(received, bare_step(received.span)) for received in decoded.spans]


START_NS = 1_790_000_000_000_000_000
"""When the runs made here begin; `at` below is seconds after it."""


def tool_step(at: float, name: str = "search", arguments: Any = None, result: Any = None, *, lasts: float = 0.5, **fields: Any) -> Step:  # fmt: skip
    """A tool call that ran; `fields` replace any of the step's fields, `call_id` the tool call's."""
    call = ToolCall(name, fields.pop("call_id", None), arguments, result)
    return _call(at, lasts, kind="tool", name=name, tool=call, **fields)


def llm_step(at: float, tokens: tuple[int | None, int | None] | None = (100, 10), cost: str | None = None, *, cached: int = 0, lasts: float = 0.5, **fields: Any) -> Step:  # fmt: skip
    """An answered model call that used `tokens` (input with `cached` in it, output); None: it carries no usage."""
    usage = None if tokens is None else Usage(*tokens, cache_read_tokens=cached)
    return _call(at, lasts, kind="llm", name="chat", usage=usage, cost_usd=None if cost is None else Decimal(cost), **fields)  # fmt: skip


def _call(at: float, lasts: float, **fields: Any) -> Step:
    start = START_NS + round(at * 1e9)
    given = {"scope_id": "agent", "span_id": f"{start:016x}", "start_ns": start, "end_ns": start + round(lasts * 1e9)}
    return bare_step(make_span(), **given | fields)


def run_header(**fields: Any) -> Run:
    """The header of an open run; `fields` replace any of its fields."""
    made = Run("run", "default", "shop", ["0af7651916cd43dd8448eb211c80319c"], agent="support", started_ns=START_NS)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def judge(steps: Iterable[Step], *, rules: dict[str, Any] | None = None, tools: list[dict[str, Any]] | None = None, contracts: list[dict[str, Any]] | None = None, run: Run | None = None, scope: Scope = "trajectory", runs: dict[int, str] | None = None) -> list[Finding]:  # fmt: skip
    """What the configured rules say of these steps; `runs` gives the run of the step with that index."""
    config = Config.model_validate({"rules": rules or {}, "tools": tools or [], "contracts": contracts or []})
    judged = ScopeJudge(RuleSet(config), scope, "run", "default")
    for index, step in enumerate(steps):
        judged.put(step, (runs or {}).get(index, "run"))
    return judged.settle(run or run_header())
