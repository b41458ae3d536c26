"""The receiver's check of a body agrees with the decoder, whatever was done to the body, and is not blown up by it."""

from __future__ import annotations

import random

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from trailhound.collector.decode import Admission, admit, decode_traces
from trailhound.collector.decode.request import COUNT_BYTES, MAX_ITEMS
from trailhound.errors import Invalid
from trailhound.model import Record, Rejected


def request(spans: int = 5, name: str = "chat") -> ExportTraceServiceRequest:
    made = ExportTraceServiceRequest()
    for group in range(2):
        scope = made.resource_spans.add().scope_spans.add()
        for number in range(spans):
            scope.spans.add(trace_id=bytes([1 + group]) * 16, span_id=bytes([1 + number % 250]) * 8, name=name)
    return made


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def bomb(size: int, item: bytes) -> bytes:
    """`size` bytes of tiny spans or records."""
    items = item * (size // len(item))
    scope = b"\x12" + varint(len(items)) + items
    return b"\x0a" + varint(len(scope)) + scope


def admitted(body: bytes) -> tuple[int, list[Rejected]] | str:
    try:
        admission = admit("traces", body)
    except Invalid as error:
        return error.reason
    return admission.items, admission.rejected


def decoded(body: bytes) -> tuple[int, list[Rejected]] | str:
    try:
        result = decode_traces(Record("traces", "default", body, 0))
    except Invalid as error:
        return error.reason
    return len(result.spans) + len(result.rejected), result.rejected


def test_good_requests() -> None:
    assert admit("traces", request().SerializeToString()) == Admission(10)
    assert admit("traces", b"") == Admission(0)


def test_it_agrees_with_the_decoder_on_damaged_bodies() -> None:
    good = request().SerializeToString()
    dice = random.Random(11)
    outcomes = set()
    for _ in range(4000):
        body = bytearray(good)
        for _ in range(dice.randint(1, 3)):
            body[dice.randrange(len(body))] = dice.randrange(256)
        one, other = admitted(bytes(body)), decoded(bytes(body))
        if one != "wrong_signal":
            assert one == other, bytes(body)
        outcomes.add(one if isinstance(one, str) else bool(one[1]))
    assert {"bad_protobuf", True, False} <= outcomes


@pytest.mark.parametrize("bad", [0, 3, 9])
def test_large_bodies_are_judged_alike(bad: int) -> None:
    made = request(name="x" * 300_000)
    spans = [span for group in made.resource_spans for span in group.scope_spans[0].spans]
    spans[bad].span_id = bytes(8)
    body = made.SerializeToString()
    assert len(body) > COUNT_BYTES
    assert [rejected.reason for rejected in admit("traces", body).rejected] == ["invalid_span_id"]


@pytest.mark.parametrize("signal", ["traces", "logs"])
@pytest.mark.parametrize("item", [b"\x12\x00", b"\x12\x02\x0a\x00"], ids=["empty", "nearly-empty"])
@pytest.mark.parametrize("mib", [1, 4, 32])
def test_bombs_of_tiny_items(signal: str, item: bytes, mib: int) -> None:
    before = peak_mib(reset=True)
    with pytest.raises(Invalid, match=f"more than {MAX_ITEMS}"):
        admit("traces" if signal == "traces" else "logs", bomb(mib * 2**20, item))
    assert peak_mib() - before <= 64 + 2 * mib


def peak_mib(*, reset: bool = False) -> int:
    """Peak resident memory of this process, from now on when `reset`."""
    if reset:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as control:
            control.write("5")
    with open("/proc/self/status", encoding="ascii") as status:
        return int(next(line for line in status if line.startswith("VmHWM")).split()[1]) // 1024
