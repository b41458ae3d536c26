"""Helpers that several test files share: small makers of spans and OTLP values."""

from __future__ import annotations

from typing import Any

from opentelemetry.proto.common.v1.common_pb2 import AnyValue

from trailhound.model import InstrumentationScope, Resource, Span

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
