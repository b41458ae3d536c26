"""/metrics of a real daemon that was sent hostile names by OTLP: bounded, valid, quick."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path
from random import Random

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from prometheus_client.parser import text_string_to_metric_families

from trailhound.metrics import MAX_LABEL_VALUES, OTHER
from trailhound.testing import START_NS, any_value
from trailhound.testing_components import binary
from trailhound.testing_daemon import RunningDaemon, configured, eventually
from trailhound.testing_traffic import request_of

pytestmark = [pytest.mark.processes, pytest.mark.components]

NAMES = 100_000
TOGETHER = 1000
HOSTILE = ['"', "\n", "\\", "{", "}", "\u202e", "\x00", "__other__", "a" * 500, "ä", "# HELP x"]


def call(number: int, name: str) -> Span:
    """A tool call in a trace that it shares with 99 others."""
    span = Span(trace_id=(number // 100 + 1).to_bytes(16, "big"), span_id=(number + 1).to_bytes(8, "big"), name="call")
    span.start_time_unix_nano = START_NS + number
    span.end_time_unix_nano = span.start_time_unix_nano + 1
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.agent.name": "desk"}
    for key, value in told.items():
        span.attributes.add(key=key).value.CopyFrom(any_value(value))
    return span


def counted(daemon: RunningDaemon) -> float:
    families = text_string_to_metric_families(daemon.get("/metrics"))
    return sum(s.value for f in families for s in f.samples if s.name == "agent_tool_calls_total")


def test_a_hundred_thousand_hostile_tool_names_by_otlp(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = Random(3)
    with RunningDaemon(configured(tmp_path)) as daemon:
        for start in range(0, NAMES, TOGETHER):
            names = [f"{rng.choice(HOSTILE)}{number}{rng.choice(HOSTILE)}" for number in range(start, start + TOGETHER)]
            body = request_of([call(start + index, name) for index, name in enumerate(names)])
            eventually(lambda body=body: daemon.post(body) == 200, 60)  # type: ignore[misc]
        eventually(lambda: counted(daemon) == NAMES, 240)
        took_s = []
        for _ in range(5):
            begun_s = time.perf_counter()
            text = daemon.get("/metrics")
            took_s.append(time.perf_counter() - begun_s)
        with capsys.disabled():
            print(
                f"\n{NAMES} tool names: {len(text)} bytes, scrapes of {', '.join(f'{1000 * s:.0f}' for s in took_s)} ms"
            )
    tools = set(re.findall(r'tool="((?:[^"\\]|\\.)*)"', text))
    assert len(tools) <= MAX_LABEL_VALUES
    assert OTHER in tools
    checked = subprocess.run(
        [binary("promtool"), "check", "metrics"], input=text.encode(), capture_output=True, check=False
    )
    assert checked.returncode == 0, checked.stderr.decode() + checked.stdout.decode()
