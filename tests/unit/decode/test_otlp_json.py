"""OTLP/JSON: what the specification allows, what senders get wrong, and that it equals the protobuf."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from trailhound.collector.decode import admit, decode_logs, decode_traces, json_to_protobuf
from trailhound.collector.decode.values import MAX_DEPTH
from trailhound.errors import Invalid
from trailhound.model import Record, Span
from trailhound.testing import any_value

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def request(**span: Any) -> dict[str, Any]:
    made = {"traceId": TRACE, "spanId": SPAN, **span}
    return {"resourceSpans": [{"scopeSpans": [{"spans": [made]}]}]}


def spans(document: Any) -> list[Span]:
    text = document if isinstance(document, bytes) else json.dumps(document).encode()
    return [r.span for r in decode_traces(Record("traces", "default", json_to_protobuf("traces", text), 0)).spans]


def one(**span: Any) -> Span:
    return spans(request(**span))[0]


def value_of(value: Any) -> Any:
    return one(attributes=[{"key": "k", "value": value}]).attributes["k"]


def test_a_span_is_read_whole() -> None:
    document = {
        "resourceSpans": [
            {
                "resource": {
                    "attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}],
                    "entityRefs": [1],
                },
                "scopeSpans": [{"scope": {"name": "s", "version": "1"}, "spans": [{"traceId": TRACE, "spanId": SPAN}]}],
                "unknownField": {"deep": [1]},
            }
        ]
    }
    document["resourceSpans"][0]["scopeSpans"][0]["spans"][0] |= {  # type: ignore[index]
        "parentSpanId": "00f067aa0ba902b7",
        "name": "chat",
        "kind": 3,
        "startTimeUnixNano": "1790000000000000001",
        "endTimeUnixNano": 1790000000000000002,
        "status": {"code": 2, "message": "no"},
        "flags": 1,
        "droppedAttributesCount": 2,
        "events": [{"name": "e", "timeUnixNano": "5", "attributes": [{"key": "a", "value": {"boolValue": True}}]}],
        "links": [{"traceId": TRACE.upper(), "spanId": SPAN}],
        "newField": None,
    }
    got = spans(document)[0]
    assert (got.trace_id, got.parent_span_id, got.name, got.kind) == (TRACE, "00f067aa0ba902b7", "chat", 3)
    assert (got.start_ns, got.end_ns) == (1790000000000000001, 1790000000000000002)
    assert (got.status_code, got.status_message, got.flags, got.dropped) == (2, "no", 1, 2)
    assert [(e.name, e.time_ns, e.attributes) for e in got.events] == [("e", 5, {"a": True})]
    assert [(link.trace_id, link.span_id) for link in got.links] == [(TRACE, SPAN)]
    assert (got.resource.service, got.scope.name, got.scope.version) == ("shop", "s", "1")


def test_ids_are_hex_in_either_case() -> None:
    got = one(traceId=TRACE.upper(), spanId=SPAN.upper())
    assert (got.trace_id, got.span_id) == (TRACE, SPAN)


@pytest.mark.parametrize("bad", ["", "zz" * 16, base64.b64encode(bytes.fromhex(TRACE)).decode(), TRACE[:-1], None, 7])
def test_a_bad_id_refuses_its_span_alone(bad: Any) -> None:
    document = request(traceId=bad)
    document["resourceSpans"][0]["scopeSpans"][0]["spans"].append({"traceId": TRACE, "spanId": SPAN, "name": "good"})
    body = json_to_protobuf("traces", json.dumps(document).encode())
    assert [r.reason for r in admit("traces", body).rejected] == ["invalid_trace_id"]
    assert [s.name for s in spans(document)] == ["good"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"intValue": "9223372036854775807"}, 2**63 - 1),
        ({"intValue": 9007199254740993}, 9007199254740993),
        ({"intValue": "-9223372036854775808"}, -(2**63)),
        ({"intValue": 3.0}, 3),
        ({"intValue": "abc"}, None),
        ({"intValue": 10**30}, None),
        ({"doubleValue": 0.5}, 0.5),
        ({"doubleValue": 1}, 1.0),
        ({"doubleValue": "Infinity"}, math.inf),
        ({"doubleValue": "-Infinity"}, -math.inf),
        ({"doubleValue": "0.25"}, 0.25),
        ({"boolValue": False}, False),
        ({"stringValue": ""}, ""),
        ({"stringValue": "ü😀"}, "ü😀"),
        ({"bytesValue": "AAEC/w=="}, b"\x00\x01\x02\xff"),
        ({"bytesValue": "AAEC_w"}, b"\x00\x01\x02\xff"),
        ({"bytesValue": "%"}, None),
        ({"bytesValue": "eyJhIjogMX0="}, '{"a": 1}'),
        ({"bytesValue": "e4CBfQ=="}, b"{\x80\x81}"),
        ({"string_value": "snake"}, "snake"),
        ({"arrayValue": {"values": [{"intValue": "1"}, {"stringValue": "a"}, {}]}}, [1, "a", None]),
        ({"arrayValue": {}}, []),
        ({"kvlistValue": {"values": [{"key": "a", "value": {"arrayValue": {"values": []}}}, {"key": "b"}]}}, {"a": [], "b": None}),
        ({}, None),
        (None, None),
        ({"stringValueStrindex": 3}, None),
        ({"unheardOfValue": 3}, None),
    ],
    ids=lambda v: json.dumps(v, default=repr)[:50],
)  # fmt: skip
def test_every_kind_of_value(value: Any, expected: Any) -> None:
    got = value_of(value)
    assert got == expected
    assert type(got) is type(expected)


def test_not_a_number_is_read() -> None:
    assert math.isnan(value_of({"doubleValue": "NaN"}))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (2, 2),
        ("2", 2),
        ("SPAN_KIND_SERVER", 2),
        ("SERVER", 2),
        ("span_kind_client", 3),
        (99, 99),
        ("NONSENSE", 0),
        (None, 0),
    ],
)
def test_enums_are_numbers_or_names(kind: Any, expected: int) -> None:
    assert one(kind=kind).kind == expected
    assert one(status={"code": "STATUS_CODE_ERROR"}).status_code == 2


def test_snake_case_keys_are_tolerated() -> None:
    made = {"trace_id": TRACE, "span_id": SPAN, "start_time_unix_nano": "4", "parent_span_id": "00f067aa0ba902b7"}
    got = spans({"resource_spans": [{"scope_spans": [{"spans": [made]}]}]})[0]
    assert (got.trace_id, got.start_ns, got.parent_span_id) == (TRACE, 4, "00f067aa0ba902b7")


@pytest.mark.parametrize(
    ("time", "expected"), [(-1, 0), ("soon", 0), (1.79e18, 1790000000000000000), (2**64, 0), (None, 0)]
)
def test_a_time_that_is_none_is_zero(time: Any, expected: int) -> None:
    assert one(startTimeUnixNano=time).start_ns == expected


def test_lone_surrogates_become_replacement_characters() -> None:
    text = json.dumps(request(name="NAME", attributes=[{"key": "KEY", "value": {"stringValue": "VALUE"}}]))
    body = text.replace("NAME", r"a\ud800b").replace("KEY", r"k\udfff").replace("VALUE", r"\ud83d\ude00\ud83d")
    got = spans(body.encode())[0]
    assert (got.name, got.attributes) == ("a�b", {"k�": "😀�"})


def test_invalid_utf8_and_a_byte_order_mark_are_tolerated() -> None:
    text = json.dumps(request(name="NAME")).encode().replace(b"NAME", b"na\xffme")
    assert spans(b"\xef\xbb\xbf" + text)[0].name == "na�me"


def test_attributes_as_an_object_are_refused_with_the_reason() -> None:
    with pytest.raises(Invalid, match="attributes must be a list of"):
        one(attributes={"gen_ai.system": "openai"})


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"text"',
        b'{"resourceSpans": {}}',
        b'{"resourceSpans": [3]}',
        b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"attributes": ["a"]}]}]}]}',
        b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"attributes": [{"key": "a", "value": "bare"}]}]}]}]}',
        b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"status": 2}]}]}]}',
        b'{"resourceSpans": [{"resource": []}]}',
        b'{"resourceSpans": ' + b"[" * 100_000,
        b'{"resourceSpans": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001,
        b'{"resourceLogs": [{"scopeLogs": []}]}',
        b'{"resourceSpans": [{"schemaUrl": ' + b"9" * 5000 + b"}]}",
    ],
    ids=lambda b: b[:40].decode(),
)
def test_what_is_no_request_is_invalid(body: bytes) -> None:
    with pytest.raises(Invalid):
        json_to_protobuf("traces", body)


@pytest.mark.parametrize(
    "body", [b"{}", b'{"resourceSpans": []}', b'{"resourceSpans": null}', b'{"resourceSpans": [{}, null]}']
)
def test_an_empty_request_is_legal(body: bytes) -> None:
    assert spans(body) == []


def test_values_nested_too_deep_are_cut_as_in_protobuf() -> None:
    value: dict[str, Any] = {"stringValue": "deep"}
    for _ in range(100):
        value = {"arrayValue": {"values": [value]}}
    got, seen = value_of(value), 0
    while isinstance(got, list):
        got, seen = got[0] if got else None, seen + 1
    assert (got, seen) == (None, MAX_DEPTH)


def test_logs_are_read() -> None:
    record = {
        "timeUnixNano": "5",
        "severityNumber": 9,
        "eventName": "gen_ai.choice",
        "traceId": TRACE,
        "spanId": SPAN,
        "body": {"kvlistValue": {"values": [{"key": "index", "value": {"intValue": 0}}]}},
        "attributes": [{"key": "a", "value": {"stringValue": "b"}}],
    }
    body = json_to_protobuf("logs", json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}).encode())
    got = decode_logs(Record("logs", "default", body, 0))[0]
    assert (got.event_name, got.trace_id, got.body, got.attributes) == (
        "gen_ai.choice",
        TRACE,
        {"index": 0},
        {"a": "b"},
    )


leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(max_size=5),
    st.binary(max_size=5).filter(lambda raw: raw[:1] not in (b"{", b"[")),  # the bytes of JSON are read as its text
)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def as_json(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {"arrayValue": {"values": [as_json(item) for item in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": k, "value": as_json(v)} for k, v in value.items()]}}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value if math.isfinite(value) else ("Infinity" if value > 0 else "-Infinity")}
    if isinstance(value, bytes):
        return {"bytesValue": base64.b64encode(value).decode()}
    return {} if value is None else {"stringValue": value}


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.text(max_size=4), values, max_size=4))
def test_json_and_protobuf_give_the_same_span(attributes: dict[str, Any]) -> None:
    wire = ExportTraceServiceRequest()
    span = (
        wire.resource_spans.add()
        .scope_spans.add()
        .spans.add(trace_id=bytes.fromhex(TRACE), span_id=bytes.fromhex(SPAN))
    )
    for key, value in attributes.items():
        span.attributes.add(key=key).value.CopyFrom(any_value(value))
    from_wire = decode_traces(Record("traces", "default", wire.SerializeToString(), 0)).spans[0].span
    from_json = one(attributes=[{"key": k, "value": as_json(v)} for k, v in attributes.items()])
    assert from_wire == from_json
    assert from_json.attributes == attributes


@settings(max_examples=150, deadline=None)
@given(
    st.binary(max_size=60)
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=2)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "resourceSpans",
                        "scopeSpans",
                        "spans",
                        "attributes",
                        "key",
                        "value",
                        "stringValue",
                        "status",
                        "events",
                    ]
                ),
                inner,
                max_size=3,
            )
        ),
    ).map(lambda v: json.dumps(v).encode())
)
def test_random_input_is_read_or_invalid(body: bytes) -> None:
    try:
        wire = json_to_protobuf("traces", body)
    except Invalid:
        return
    admit("traces", wire)
