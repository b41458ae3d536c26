"""From a span's acknowledgement to the finding, in the API and in `/metrics`, while a real daemon is under load.

`bench_latency.py [spans a second] [seconds]`: the daemon (receiver, monitor, embedded store) takes mixed traffic over
HTTP: calm runs of 16 spans with about 1.5 kB of content each, and among twenty one in trouble (loop, ping-pong, refund
that nobody approved, failing tool, many turns). Between them come probes: runs that loop and stay open. Printed: how
long after the answer to its last span a probe's `loop` shows, and what the daemon cost. A second process sends, so that
making the load does not slow down the looking.
"""

from __future__ import annotations

import http.client
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from opentelemetry.proto.trace.v1.trace_pb2 import Span

from trailhound.testing import START_NS, any_value
from trailhound.testing_daemon import RunningDaemon, configured, eventually
from trailhound.testing_traffic import CONFIG, request_of, spans_of

PER_REQUEST, SERVICES, PARTS = 100, 8, 3
"""Spans in a request, of one service; a run comes in so many requests, about a second apart."""
LOOK_S = {"API": 0.05, "/metrics": 0.1}
"""Pause between two looks, which cost the daemon some milliseconds each and are part of what is measured."""
BUDGET = {"rules": {"budget": {"run": {"turns": 11, "tokens": 20_000}}}}
"""Calm runs are far from it; that of the shared configuration would make all of them use up their tokens."""
PROBE_EVERY_S = 0.25
WARM_S = 5
SECOND = 1_000_000_000
TEXT = "The customer writes that the parcel came late and damaged, and asks what can be done about it today. " * 8


# ------------------------------------------------------------ the load


def calm(rng: random.Random, number: int, at_ns: int) -> list[Span]:
    """A model call and a tool call by turns, eight and seven, in the order of their ends."""
    trace_id, root_id = rng.randbytes(16), rng.randbytes(8)
    spans = []
    for index in range(15):
        start = at_ns + index * SECOND // 8
        attributes: dict[str, object] = {"gen_ai.conversation.id": f"s{number}"}
        if index % 2:
            arguments = f'{{"order": "{number}", "page": {index}}}'
            attributes |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": f"tool{index % 5}"}
            attributes |= {"gen_ai.tool.call.id": f"c{number}-{index}", "gen_ai.tool.call.arguments": arguments}
            attributes |= {"gen_ai.tool.call.result": f"{number}-{index} {TEXT[:300]}"}
        else:
            attributes |= {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o"}
            attributes |= {"gen_ai.provider.name": "openai", "gen_ai.usage.input_tokens": 900 + index}
            attributes |= {"gen_ai.usage.output_tokens": 40, "gen_ai.output.messages": TEXT}
        spans.append(span_of(trace_id, rng.randbytes(8), root_id, start, SECOND // 10, attributes))
    root = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "desk",
        "gen_ai.conversation.id": f"s{number}",
    }
    return [*spans, span_of(trace_id, root_id, b"", at_ns, 2 * SECOND, root | {"gen_ai.output.messages": "done"})]


def span_of(
    trace_id: bytes, span_id: bytes, parent: bytes, start: int, lasts: int, attributes: Mapping[str, object]
) -> Span:
    span = Span(
        trace_id=trace_id, span_id=span_id, parent_span_id=parent, name=str(attributes["gen_ai.operation.name"])
    )
    span.start_time_unix_nano, span.end_time_unix_nano = start, start + lasts
    for key, value in attributes.items():
        span.attributes.add(key=key).value.CopyFrom(any_value(value))
    return span


def troubled(number: int, at_ns: int) -> list[Span]:
    spans = spans_of(number, seed=7)
    later = at_ns - min(span.start_time_unix_nano for span in spans)
    for span in spans:
        span.start_time_unix_nano += later
        span.end_time_unix_nano += later
    return spans


def bodies(spans_a_second: int, seconds: float) -> Iterator[bytes]:
    """The requests in their order, `spans_a_second / PER_REQUEST` of which are one second's."""
    rng, number = random.Random(1), 0
    apart = spans_a_second // PER_REQUEST // SERVICES * SERVICES or SERVICES
    coming: dict[int, list[Span]] = {}
    for tick in range(int(spans_a_second * seconds / PER_REQUEST)):
        at_ns = START_NS + tick * PER_REQUEST * SECOND // spans_a_second
        spans = coming.pop(tick, [])
        begun = 0
        while begun < PER_REQUEST // PARTS or (tick < apart * (PARTS - 1) and len(spans) < PER_REQUEST):
            run = troubled(number, at_ns) if number % 20 == 19 else calm(rng, number, at_ns)
            number += 1
            size = -(-len(run) // PARTS)
            spans += run[:size]
            begun += size
            for part in range(1, PARTS):
                coming.setdefault(tick + part * apart, []).extend(run[part * size : (part + 1) * size])
        yield request_of(spans, f"shop{tick % SERVICES}")


def send(address: str, spans_a_second: int, seconds: float) -> None:
    """The sending process: makes everything first, says so, sends at the rate, prints what it reached."""
    made = list(bodies(spans_a_second, seconds))
    print("made", flush=True)
    connection, began, refused = http.client.HTTPConnection(address, timeout=30), time.perf_counter(), 0
    for tick, body in enumerate(made):
        time.sleep(max(0.0, began + tick * PER_REQUEST / spans_a_second - time.perf_counter()))
        connection.request("POST", "/v1/traces", body, {"Content-Type": "application/x-protobuf"})
        answer = connection.getresponse()
        answer.read()
        refused += answer.status != 200
    spent = time.perf_counter() - began
    size = sum(map(len, made)) / len(made) / PER_REQUEST
    print(
        f"sent about {len(made) * PER_REQUEST / spent:,.0f} spans/s, {size:.0f} bytes a span, {refused} refused",
        flush=True,
    )


# ------------------------------------------------------------ the looking


def probe(daemon: RunningDaemon, number: int) -> float:
    """Deliver a run that loops and is not over; when it was acknowledged."""
    spans = spans_of(1, seed=1000 + number)[:6]
    for span in spans:
        span.attributes.add(key="gen_ai.conversation.id").value.CopyFrom(any_value(f"probe-{number}"))
    assert daemon.post(request_of(spans, "probe")) == 200
    return time.perf_counter()


def in_api(daemon: RunningDaemon, number: int) -> bool:
    return bool(daemon.get(f"/api/v1/findings?session_id=probe-{number}&limit=1")["items"])


def in_metrics(daemon: RunningDaemon, number: int) -> bool:
    """Every probe so far has one finding."""
    text = str(daemon.get("/metrics"))
    told = re.findall(r'^agent_findings_total\{(?=.*service="probe")(?=.*rule="loop").*\} (\S+)$', text, re.MULTILINE)
    return sum(map(float, told)) >= number + 1


def until(name: str, daemon: RunningDaemon, number: int, acknowledged: float) -> float:
    seen = in_api if name == "API" else in_metrics
    while not seen(daemon, number):
        time.sleep(LOOK_S[name])
    return time.perf_counter() - acknowledged


def used_s(pid: int) -> float:
    """CPU seconds of a process so far."""
    words = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def resident_mib(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def figures(name: str, times: list[float]) -> str:
    ordered = sorted(times) or [float("nan")]
    p99 = ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]
    return f"{name}, {len(ordered)} probes: p50 {statistics.median(ordered) * 1e3:.0f} ms, p99 {p99 * 1e3:.0f} ms"


def main(spans_a_second: int, seconds: float) -> None:
    settings = CONFIG | BUDGET | {"journal": {"min_free": 1}}
    with tempfile.TemporaryDirectory() as folder, RunningDaemon(configured(Path(folder), settings)) as daemon:
        eventually(lambda: daemon.get("/readyz")["ready"])
        pid = daemon.children()["monitor"]
        used = used_s(pid)
        arguments = [sys.executable, __file__, "send", daemon.http, str(spans_a_second), str(seconds + WARM_S + 5)]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as sender:
            assert sender.stdout is not None
            assert sender.stdout.readline() == "made\n"
            time.sleep(WARM_S)
            look(daemon, seconds)
            print(sender.stdout.read().strip())
        began = time.perf_counter()
        eventually(lambda: daemon.metric("trailhound_lag_seconds") < 0.2, 600)
        print(f"the monitor had caught up {time.perf_counter() - began:.1f} s after the last request")
        spans = daemon.metric("trailhound_spans_decoded_total")
        print(f"it used {(used_s(pid) - used) / spans * 1e6:.0f} us of CPU a span, the answers to the looks included")


def look(daemon: RunningDaemon, seconds: float) -> None:
    pids = daemon.children()
    before, began = {role: used_s(pid) for role, pid in pids.items()}, time.perf_counter()
    times: dict[str, list[float]] = {"API": [], "/metrics": []}
    number = 0
    while (passed := time.perf_counter() - began) < seconds:
        acknowledged = probe(daemon, number)
        name = "API" if number % 2 else "/metrics"
        times[name].append(until(name, daemon, number, acknowledged))
        number += 1
        time.sleep(max(0.0, PROBE_EVERY_S - (time.perf_counter() - began - passed)))
    spent = time.perf_counter() - began
    for name, each in times.items():
        print(figures(f"acknowledged to finding in {name}", each))
    for role, pid in pids.items():
        print(f"{role}: {(used_s(pid) - before[role]) / spent:.0%} of a core, {resident_mib(pid):.0f} MiB")
    print(f"judging is behind by {daemon.metric('trailhound_lag_seconds'):.1f} s")


if __name__ == "__main__":
    if sys.argv[1:2] == ["send"]:
        send(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 5000, float(sys.argv[2]) if len(sys.argv) > 2 else 30)
