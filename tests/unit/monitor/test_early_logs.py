"""Log records that come before the spans that they are about, or without any."""

from __future__ import annotations

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from trailhound.testing import START_NS, any_value
from trailhound.testing_traffic import request_of, spans_of

from .conftest import Life, World

CALM = 0
TRACE = b"\7" * 16


def record(trace_id: bytes = TRACE) -> bytes:
    """A call failed, says a log record of its agent."""
    request = ExportLogsServiceRequest()
    scope = request.resource_logs.add().scope_logs.add()
    scope.scope.name = "com.anthropic.claude_code.events"
    made = scope.log_records.add(
        trace_id=trace_id, span_id=b"\1" * 8, event_name="tool_result", time_unix_nano=START_NS
    )
    for key, value in {"tool_name": "search", "tool_use_id": "c1", "success": "false"}.items():
        made.attributes.add(key=key).value.CopyFrom(any_value(value))
    return request.SerializeToString()


def call() -> bytes:
    """The span of that call, which does not say how it went."""
    span = Span(trace_id=TRACE, span_id=b"\2" * 8, parent_span_id=b"\1" * 8, name="execute_tool search")
    span.start_time_unix_nano, span.end_time_unix_nano = START_NS, START_NS + 10**9
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "gen_ai.tool.call.id": "c1"}
    for key, value in told.items():
        span.attributes.add(key=key).value.CopyFrom(any_value(value))
    return request_of([span])


def pass_time(world: World, life: Life, seconds: float, other: int) -> None:
    """Other runs come and go, and what is sealed is stored."""
    for part in range(4):
        world.receive(request_of(spans_of(6 * (other + part) + CALM)))
        world.seal()
        while life.turn_over():
            pass
        world.clock.advance(seconds / 4)


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("seconds", [20, 2000])
def test_what_a_record_says_is_known_when_the_span_comes(world: World, seconds: float, restart: bool) -> None:
    life = world.live()
    world.take("logs", record())
    world.seal()
    pass_time(world, life, seconds, other=20)
    assert life.watch.low_water() != 1  # a trace without a span holds no journal
    if restart:
        life = world.live()
    world.receive(call())
    pass_time(world, life, 2000, other=30)
    pass_time(world, life, 200, other=40)
    run = world.store.get_trajectory(TRACE.hex())
    assert run is not None
    assert (run.totals.steps, run.totals.tool_errors) == (1, 1)


def test_traces_whose_spans_a_sampler_dropped_leave_memory(world: World) -> None:
    life = world.live()
    for number in range(1, 30):
        world.take("logs", record(number.to_bytes(16, "big")))
    pass_time(world, life, 10, other=10)
    assert len(life.watch._intake.heard) == 29
    pass_time(world, life, 100, other=20)
    pass_time(world, life, 100, other=30)
    assert len(life.watch._intake.heard) == 0
    assert not any(trace in life.watch._places for trace in (("default", f"{n:032x}") for n in range(1, 30)))
