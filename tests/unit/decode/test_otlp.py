"""The facts about OTLP bytes that ingest code gets wrong, one test each."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.trace.v1 import trace_pb2

from trailhound.collector.decode import Decoded, admit, decode_logs, decode_traces
from trailhound.collector.decode.values import MAX_ATTRIBUTES, MAX_DEPTH
from trailhound.collector.decode.wire import read_varint
from trailhound.errors import Invalid
from trailhound.model import Record
from trailhound.testing import any_value

TRACE, SPAN = bytes(range(1, 17)), bytes(range(1, 9))


def varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number: int, payload: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def body(*spans: bytes, resource: bytes = b"") -> bytes:
    """A traces request of one resource and scope around raw span messages."""
    return field(1, field(1, resource) + field(2, b"".join(field(2, span) for span in spans)))


def span(**fields: Any) -> bytes:
    return trace_pb2.Span(**{"trace_id": TRACE, "span_id": SPAN, **fields}).SerializeToString()


def decode(*spans: bytes, resource: bytes = b"") -> Decoded:
    return decode_traces(Record("traces", "default", body(*spans, resource=resource), 7))


def attribute(key: bytes, value: bytes) -> bytes:
    return field(9, field(1, key) + field(2, value))


def nested(depth: int) -> bytes:
    """An AnyValue: an array in an array, `depth` times, around the string "deep"."""
    value = field(1, b"deep")
    for _ in range(depth):
        value = field(5, field(1, value))
    return value


def test_a_span_is_decoded_whole() -> None:
    made = trace_pb2.Span(
        trace_id=TRACE,
        span_id=SPAN,
        parent_span_id=b"parent-1",
        name="chat",
        kind=trace_pb2.Span.SPAN_KIND_CLIENT,
        flags=0x80000101,
    )
    made.start_time_unix_nano, made.end_time_unix_nano, made.trace_state = 1, 2, "a=b"
    made.status.code, made.status.message = trace_pb2.Status.STATUS_CODE_ERROR, "boom"
    made.dropped_attributes_count, made.dropped_events_count = 3, 4
    made.attributes.add(key="n").value.int_value = -5
    made.events.add(name="e", time_unix_nano=9).attributes.add(key="k").value.bool_value = True
    made.links.add(trace_id=TRACE, span_id=SPAN).attributes.add(key="l").value.double_value = 0.5
    received = decode(made.SerializeToString()).spans[0]
    got = received.span
    assert (got.trace_id, got.span_id, got.parent_span_id) == (TRACE.hex(), SPAN.hex(), b"parent-1".hex())
    assert (got.name, got.kind, got.start_ns, got.end_ns, got.trace_state, got.received_ns) == (
        "chat",
        3,
        1,
        2,
        "a=b",
        7,
    )
    assert (got.status_code, got.status_message, got.dropped, got.flags) == (2, "boom", 7, 0x101)
    assert (got.attributes, got.tenant) == ({"n": -5}, "default")
    assert [(e.name, e.time_ns, e.attributes) for e in got.events] == [("e", 9, {"k": True})]
    assert [(link.trace_id, link.span_id, link.attributes) for link in got.links] == [
        (TRACE.hex(), SPAN.hex(), {"l": 0.5})
    ]
    assert received.raw == made.SerializeToString()


VALUES: list[Any] = [
    "",
    "text",
    "ä" * 200,
    "x" * 20_000,
    True,
    False,
    0,
    -1,
    2**63 - 1,
    -(2**63),
    0.25,
    b"",
    b"\xff\x00",
    [],
    [1, "a", [True, None], {"k": [b"x"]}],
    {},
    {"a": {"b": [1, 2.5]}, "c": None},
    None,
]


@pytest.mark.parametrize("value", VALUES, ids=lambda v: repr(v)[:30])
def test_every_kind_of_value_is_read_on_a_span_and_an_event(value: Any) -> None:
    made = trace_pb2.Span(trace_id=TRACE, span_id=SPAN)
    made.attributes.add(key="k").value.CopyFrom(any_value(value))
    made.events.add(name="e").attributes.add(key="k").value.CopyFrom(any_value(value))
    for _ in range(2):  # the second time short values come from the memo
        got = decode(made.SerializeToString()).spans[0].span
        assert got.attributes == {"k": value}
        assert type(got.attributes["k"]) is type(value)
        assert got.events[0].attributes == {"k": value}


def test_one_invalid_utf8_byte_harms_neither_its_span_nor_the_others() -> None:
    bad = span() + field(5, b"na\xffme") + attribute(b"k\xfe", field(1, b"cut \xe2\x82"))
    decoded = decode(span(name="before"), bad, span(name="after"))
    assert [s.span.name for s in decoded.spans] == ["before", "na�me", "after"]
    assert decoded.spans[1].span.attributes == {"k�": "cut �"}
    assert decoded.rejected == []


@pytest.mark.parametrize("depth", [MAX_DEPTH, 47, 60, 20_000])
def test_deep_nesting_is_cut_and_harms_nothing(depth: int) -> None:
    decoded = decode(span() + attribute(b"deep", nested(depth)), span(name="other"))
    value, seen = decoded.spans[0].span.attributes["deep"], 0
    while isinstance(value, list):
        value, seen = value[0], seen + 1
    assert (seen, value) == (MAX_DEPTH, "deep" if depth == MAX_DEPTH else None)
    assert decoded.spans[1].span.name == "other"


def test_of_a_duplicate_key_the_last_wins_on_spans_and_in_maps() -> None:
    pairs = b"".join(field(1, field(1, b"k") + field(2, field(1, v))) for v in (b"one", b"two"))
    got = decode(
        span()
        + attribute(b"k", field(1, b"old"))
        + attribute(b"k", field(1, b"new"))
        + attribute(b"map", field(6, pairs))
    )
    assert got.spans[0].span.attributes == {"k": "new", "map": {"k": "two"}}


def test_a_value_before_its_key_an_absent_value_and_a_profile_index_are_read() -> None:
    swapped = field(9, field(2, field(1, b"v")) + field(1, b"swapped"))
    index = field(9, field(1, b"index") + field(2, varint(8 << 3) + varint(5)))
    absent = field(9, field(1, b"absent"))
    assert decode(span() + swapped + index + absent).spans[0].span.attributes == {
        "swapped": "v",
        "index": None,
        "absent": None,
    }


def test_a_corrupt_attribute_is_lost_alone_and_the_kept_bytes_are_well_formed() -> None:
    broken = field(9, b"\x0a\x01k\x12\xff\x01")
    received = decode(span(name="s") + attribute(b"good", field(1, b"v")) + broken).spans[0]
    assert (received.span.attributes, received.span.dropped) == ({"good": "v"}, 1)
    again = trace_pb2.Span.FromString(received.raw)
    assert (again.name, [a.key for a in again.attributes], again.trace_id) == ("s", ["good"], TRACE)


def test_attributes_beyond_the_limit_are_counted_as_dropped() -> None:
    many = b"".join(attribute(b"k%d" % i, field(1, b"v")) for i in range(MAX_ATTRIBUTES + 3))
    got = decode(span() + many).spans[0].span
    assert (len(got.attributes), got.dropped) == (MAX_ATTRIBUTES, 3)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (span(trace_id=b""), "invalid_trace_id"),
        (span(trace_id=bytes(16)), "invalid_trace_id"),
        (span(trace_id=b"\x01" * 24), "invalid_trace_id"),
        (span(span_id=b""), "invalid_span_id"),
        (span(span_id=bytes(8)), "invalid_span_id"),
        (span(span_id=b"\x01" * 16), "invalid_span_id"),
        (b"", "invalid_trace_id"),
        (span()[:-1] + b"\xff\xff", "undecodable"),
        (b"\x0a\x10" + TRACE + b"\xff", "undecodable"),
    ],
)
def test_receiver_and_decoder_refuse_the_same_span_for_the_same_reason(raw: bytes, reason: str) -> None:
    request = body(span(name="good"), raw)
    admission, decoded = admit("traces", request), decode_traces(Record("traces", "default", request, 0))
    assert [r.reason for r in admission.rejected] == [reason]
    assert decoded.rejected == admission.rejected
    assert admission.items == 2
    assert [s.span.name for s in decoded.spans] == ["good"]


@pytest.mark.parametrize("parent", [b"", bytes(8), SPAN, b"abc", b"x" * 16])
def test_a_malformed_or_own_parent_makes_a_root(parent: bytes) -> None:
    decoded = decode(span(parent_span_id=parent))
    assert (decoded.spans[0].span.parent_span_id, decoded.rejected) == ("", [])


@pytest.mark.parametrize(("start", "end"), [(5, 3), (0, 0), (2**64 - 1, 1), (9, 0)])
def test_odd_times_are_kept_as_sent(start: int, end: int) -> None:
    got = decode(span(start_time_unix_nano=start, end_time_unix_nano=end)).spans[0].span
    assert (got.start_ns, got.end_ns) == (start, end)


def test_an_unknown_kind_and_status_code_pass() -> None:
    raw = span() + varint(6 << 3) + varint(99) + field(15, varint(3 << 3) + varint(77))
    got = decode(raw).spans[0].span
    assert (got.kind, got.status_code) == (99, 77)


def test_corrupt_events_links_and_status_are_lost_alone() -> None:
    raw = span() + field(11, b"\xff") + field(13, b"\xff") + field(15, b"\xff") + field(11, field(2, b"kept"))
    got = decode(raw).spans[0]
    assert ([e.name for e in got.span.events], got.span.links, got.span.status_code, got.span.dropped) == (
        ["kept"],
        [],
        0,
        3,
    )
    assert [e.name for e in trace_pb2.Span.FromString(got.raw).events] == ["kept"]


@pytest.mark.parametrize("empty", [b"", field(1, b""), field(1, field(2, b"")), field(1, field(1, b""))])
def test_an_empty_request_is_a_success(empty: bytes) -> None:
    assert admit("traces", empty).items == 0
    assert decode_traces(Record("traces", "default", empty, 0)).spans == []


def test_a_corrupt_resource_loses_only_itself() -> None:
    received = decode(span(), resource=b"\xff\xff").spans[0]
    assert (received.span.resource.service, received.resource_raw) == ("unknown_service", b"")


def logs_body() -> ExportLogsServiceRequest:
    request = ExportLogsServiceRequest()
    request.resource_logs.add().scope_logs.add()
    return request


def test_requests_of_one_sender_share_its_resource() -> None:
    def sender(name: bytes) -> bytes:
        return field(1, field(1, b"service.name") + field(2, field(1, name)))

    first, again, other = (decode(span(), resource=sender(name)).spans[0] for name in (b"a", b"a", b"b"))
    assert first.span.resource is again.span.resource
    assert (again.span.resource.service, other.span.resource.service) == ("a", "b")
    long, longer = (decode(span(), resource=sender(b"c" * 5000)).spans[0] for _ in range(2))
    assert long.span.resource == longer.span.resource  # too long to be remembered
    assert long.span.resource is not longer.span.resource


def test_log_records_are_decoded_with_their_event_names() -> None:
    request = logs_body()
    records = request.resource_logs[0].scope_logs[0].log_records
    new = records.add(time_unix_nano=5, trace_id=TRACE, span_id=SPAN, event_name="gen_ai.choice", severity_number=9)
    new.body.CopyFrom(any_value({"index": 0, "message": {"content": "hi"}}))
    old = records.add(observed_time_unix_nano=6, trace_id=b"short")
    old.attributes.add(key="event.name").value.string_value = "tool_result"
    records.add().body.string_value = "claude_code.api_request"
    records.add().body.string_value = "it failed. badly"
    got = decode_logs(Record("logs", "t1", request.SerializeToString(), 8))
    assert [r.event_name for r in got] == ["gen_ai.choice", "tool_result", "claude_code.api_request", ""]
    assert (got[0].trace_id, got[0].span_id, got[0].time_ns, got[0].severity) == (TRACE.hex(), SPAN.hex(), 5, 9)
    assert got[0].body == {"index": 0, "message": {"content": "hi"}}
    assert (got[1].trace_id, got[1].time_ns, got[1].tenant, got[1].received_ns) == ("", 6, "t1", 8)


def test_a_request_at_the_address_of_the_other_signal_is_refused_with_a_hint() -> None:
    request = logs_body()
    request.resource_logs[0].scope_logs[0].log_records.add(time_unix_nano=5, trace_id=TRACE, span_id=SPAN)
    with pytest.raises(Invalid, match="/v1/logs"):
        admit("traces", request.SerializeToString())
    with pytest.raises(Invalid, match="/v1/traces"):
        admit("logs", body(span()))


@pytest.mark.parametrize("garbage", [b"\xff", b"not protobuf at all", b"\x0a\x05abc", field(1, b"\x12\xff")])
def test_a_body_that_is_no_request_is_invalid(garbage: bytes) -> None:
    with pytest.raises(Invalid) as caught:
        admit("traces", garbage)
    assert caught.value.reason == "bad_protobuf"


def test_a_bomb_of_empty_spans_is_refused() -> None:
    with pytest.raises(Invalid) as caught:
        admit("traces", field(1, field(2, b"\x12\x00" * 2_000_000)))
    assert caught.value.reason == "too_many_items"


def test_a_varint_is_read_to_64_bits_and_must_end() -> None:
    assert read_varint(b"\xff" * 9 + b"\x01", 0) == (2**64 - 1, 10)
    with pytest.raises(Invalid):
        read_varint(b"\xff" * 11, 0)
    with pytest.raises(Invalid):
        read_varint(b"\x80", 0)


def same_answer(request: bytes) -> None:
    """Admission and decoding agree on `request`, and neither raises anything but Invalid."""
    try:
        decoded = decode_traces(Record("traces", "default", request, 0))
    except Invalid:
        with pytest.raises(Invalid):
            admit("traces", request)
        return
    for received in decoded.spans:  # the bytes that are kept need no second repair
        assert [again.raw for again in decode(received.raw).spans] == [received.raw]
    if decoded.rejected and decoded.rejected[0].reason == "log_record" and not decoded.spans:
        return  # a logs request: refused whole when it is received
    admission = admit("traces", request)
    assert admission.rejected == decoded.rejected
    assert admission.items == len(decoded.spans) + len(decoded.rejected)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=200))
def test_random_bytes_as_body_span_or_attribute_never_surprise(noise: bytes) -> None:
    for request in (noise, field(1, noise), field(1, field(2, noise)), body(noise, span())):
        same_answer(request)
    got = decode(span() + field(9, noise) + field(15, noise), span(name="other"))
    assert [s.span.name for s in got.spans] == ["", "other"]
    assert len(decode_logs(Record("logs", "default", body(noise), 0))) <= 1


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_flipped_byte_or_a_cut_never_surprises(data: st.DataObject) -> None:
    good = body(span(name="a", flags=1) + attribute(b"k", nested(3)), span(name="b") + attribute(b"n", b"\x18\x05"))
    at = data.draw(st.integers(0, len(good) - 1))
    same_answer(good[:at])
    same_answer(good[:at] + bytes([data.draw(st.integers(0, 255))]) + good[at + 1 :])
