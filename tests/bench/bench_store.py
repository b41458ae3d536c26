"""What the embedded store costs: CPU a span of inserting, disk a span, and how long questions take.

Run: `python tests/bench/bench_store.py [--spans 500000] [--segment 20000] [--bodies DIR]`. CPU time is of all threads of
this process and counts what a segment costs from decoded spans on: rows, file, INSERT, merges up to then. Bodies are
recorded requests (`*.pb`) or made here; every pass over them gives the spans fresh ids.
"""

from __future__ import annotations

import argparse
import inspect
import json
import random
import resource
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from trailhound.collector.decode import decode_traces
from trailhound.collector.dialects import read
from trailhound.collector.store import Listing, SpanRow
from trailhound.collector.store.clickhouse import ClickHouseStore
from trailhound.collector.store.connection import Connection
from trailhound.collector.store.rows import RowEncoder
from trailhound.config import Retention
from trailhound.metrics import Metrics
from trailhound.model import Record, Run, Totals
from trailhound.testing import any_value

NOW = 1_790_000_000_000_000_000
PAGE = Listing(limit=50)


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


TEXT = " ".join(filter(None, (inspect.getdoc(getattr(argparse, name)) for name in dir(argparse)))) + str(
    argparse.__doc__
)


def made_body(seed: int) -> bytes:
    """A request of 32 runs of an agent, each one `invoke_agent` over 8 `chat` and 7 `execute_tool` spans."""
    dice = random.Random(seed)
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    group.resource.attributes.add(key="service.name").value.string_value = f"agents-{seed % 8}"
    scope = group.scope_spans.add()
    scope.scope.name = "bench"
    for _ in range(32):
        trace_id, root, session = dice.randbytes(16), dice.randbytes(8), dice.randbytes(6).hex()
        for number in range(16):
            span = scope.spans.add(trace_id=trace_id, span_id=dice.randbytes(8) if number else root, kind=3)
            span.parent_span_id = root if number else b""
            span.name = ("execute_tool", "chat")[number % 2] if number else "invoke_agent"
            span.start_time_unix_nano = NOW + number * 10**9 + dice.randrange(10**9)
            span.end_time_unix_nano = span.start_time_unix_nano + dice.randrange(10**9)
            for key, value in attributes(span.name, session, dice).items():
                span.attributes.add(key=key).value.CopyFrom(any_value(value))
    return request.SerializeToString()


def attributes(operation: str, session: str, dice: random.Random) -> dict[str, Any]:
    def said(least: int, most: int) -> str:
        at = dice.randrange(len(TEXT) - most)
        return TEXT[at : at + dice.randrange(least, most)]

    found = {"gen_ai.operation.name": operation, "gen_ai.agent.name": "desk", "gen_ai.conversation.id": session}
    if operation == "execute_tool":
        call = {
            "gen_ai.tool.name": dice.choice(("search", "refund", "read_file")),
            "gen_ai.tool.call.id": dice.randbytes(12).hex(),
        }
        return (
            found
            | call
            | {"gen_ai.tool.call.arguments": json.dumps({"q": said(20, 80)}), "gen_ai.tool.call.result": said(200, 900)}
        )
    counts = {"gen_ai.usage.input_tokens": dice.randrange(9000), "gen_ai.usage.output_tokens": dice.randrange(900)}
    model = {"gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-5.1", "gen_ai.request.temperature": 0.2}
    content = {"gen_ai.input.messages": said(1000, 1900), "gen_ai.output.messages": said(100, 400)}
    return found | counts | model | content | {"gen_ai.response.finish_reasons": ["stop"], "server.port": 443}


def rows(bodies: list[bytes], spans: int) -> Iterator[SpanRow]:
    """`spans` rows; the ids of each pass over the bodies are those of the pass before, with other first bytes."""
    count = passed = 0
    while True:
        for body in bodies:
            for received in decode_traces(Record("traces", "default", body, NOW + count)).spans:
                span = received.span
                old, salt = bytes.fromhex(span.trace_id), passed.to_bytes(4, "big")
                received.raw = received.raw.replace(old, salt + old[4:], 1)
                span.trace_id = (salt + old[4:]).hex()
                yield received, read(span)
                count += 1
                if count == spans:
                    return
        passed += 1


def segments(source: Iterator[SpanRow], size: int) -> Iterator[list[SpanRow]]:
    segment: list[SpanRow] = []
    for row in source:
        segment.append(row)
        if len(segment) == size:
            yield segment
            segment = []
    if segment:
        yield segment


def headers(count: int) -> list[Run]:
    return [
        Run(
            f"{n:032x}", "default", f"service-{n % 8}", [f"{n:032x}"], "completed", agent=f"agent-{n % 20}",
            session_id=f"session-{n // 4}", started_ns=NOW + n * 10**7, ended_ns=NOW + n * 10**7 + 10**9,
            input=f"question {n}", output=f"answer {n}", totals=Totals(16, 8, 8, 7, 0, n, n // 3),
        )
        for n in range(count)
    ]  # fmt: skip


def insert_all(store: ClickHouseStore, bodies: list[bytes], spans: int, size: int) -> str:
    """Inserts and measures; returns a trace id that is stored."""
    whole, encode, trace_id = [], [], ""
    for number, segment in enumerate(segments(rows(bodies, spans), size)):
        start = cpu_s()
        encoder = RowEncoder()
        for received, step in segment:
            encoder.row(received, step)
        encode.append((cpu_s() - start) * 1e6 / len(segment))
        start = cpu_s()
        store.insert_segment(str(number), segment)
        whole.append((cpu_s() - start) * 1e6 / len(segment))
        trace_id = segment[len(segment) // 2][0].span.trace_id
    print(
        f"insert  {statistics.median(whole):6.1f} us CPU/span (median of {len(whole)} segments, mean {statistics.mean(whole):.1f})"
    )
    print(f"  rows  {statistics.median(encode):6.1f} us CPU/span of it")
    return trace_id


def ask(name: str, question: object, runs: int = 9) -> None:
    assert callable(question)
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        question()
        times.append((time.perf_counter() - start) * 1e3)
    print(f"{name:<34} p50 {statistics.median(times):7.1f} ms, max {max(times):7.1f} ms")


def questions(store: ClickHouseStore, connection: Connection, trace_id: str) -> None:
    ask("spans of a trace", lambda: store.load_spans("default", [trace_id]))
    ask("stats", store.stats)
    ask("runs, first page", lambda: store.list_trajectories(PAGE))
    ask("runs of an agent", lambda: store.list_trajectories(Listing({"agent": "agent-7"})))
    ask("run by trace id", lambda: store.get_trajectory(f"{1234:032x}"))
    ask("sessions, first page", lambda: store.list_sessions(PAGE))
    sql = "SELECT Agent, sum(InputTokens), sum(CostUsd) FROM otel_traces WHERE Timestamp > {t:DateTime64(9)} GROUP BY Agent"
    ask("spans: last hour's tokens by agent", lambda: connection.fetch(sql, t="2020-01-01 00:00:00"))
    sql = "SELECT Agent, sum(InputTokens), sum(CostUsd) FROM trajectories FINAL WHERE StartedAt > {t:DateTime64(9)} GROUP BY Agent"
    ask("runs: last hour's cost by agent", lambda: connection.fetch(sql, t="2020-01-01 00:00:00"))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--spans", type=int, default=200_000)
    arguments.add_argument("--segment", type=int, default=20_000)
    arguments.add_argument("--bodies", type=Path)
    options = arguments.parse_args()
    bodies = (
        [path.read_bytes() for path in sorted(options.bodies.glob("*.pb"))]
        if options.bodies
        else [made_body(seed) for seed in range(200)]
    )
    with tempfile.TemporaryDirectory() as directory:
        dsn = f"chdb://{directory}/store"
        store = ClickHouseStore(dsn, Retention(spans=1e10, trajectories=1e10), Metrics())
        store.open()
        connection = Connection(dsn)
        connection.open()
        trace_id = insert_all(store, bodies, options.spans, options.segment)
        runs = headers(options.spans // 16)
        start = cpu_s()
        for at in range(0, len(runs), 5000):
            store.put_trajectories(runs[at : at + 5000], NOW)
        print(f"runs    {(cpu_s() - start) * 1e6 / len(runs):6.1f} us CPU/run")
        questions(store, connection, trace_id)
        start = cpu_s()
        connection.command("OPTIMIZE TABLE otel_traces FINAL")
        print(f"merge   {(cpu_s() - start) * 1e6 / options.spans:6.1f} us CPU/span for one full merge")
        sizes = connection.fetch(
            "SELECT column, sum(column_data_compressed_bytes) AS size FROM system.parts_columns "
            "WHERE active AND table = 'otel_traces' GROUP BY column ORDER BY size DESC"
        )
        total = sum(int(size) for _, size in sizes)
        print(
            f"disk    {total / options.spans:6.1f} B/span:",
            ", ".join(f"{c} {int(s) / options.spans:.1f}" for c, s in sizes[:12]),
        )
        questions(store, connection, trace_id)
        store.close()
        connection.close()


if __name__ == "__main__":
    main()
