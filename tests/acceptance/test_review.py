"""A run that loops is sampled, promoted over the API and reviewed; what people say of it outlives a kill -9 and goes into cases."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from trailhound.testing_daemon import RunningDaemon, configured, eventually

pytestmark = pytest.mark.processes

SETTINGS = {"runs": {"grace": "100ms"}, "journal": {"segment_age": "200ms", "keep": "1s"}}


def post(daemon: RunningDaemon, path: str, told: Any, **headers: str) -> tuple[int, dict[str, Any]]:
    sent = {"Content-Type": "application/json"} | {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(f"http://{daemon.api}{path}", json.dumps(told).encode(), sent)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def loop(daemon: RunningDaemon) -> str:
    """An agent that asks for one order five times; its trace id."""
    provider = TracerProvider(resource=Resource({"service.name": "shop"}))
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(endpoint=f"http://{daemon.http}/v1/traces")))
    tracer = provider.get_tracer("test")
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "desk"}
    agent |= {"gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Where?"}]}])}
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "lookup_order"}
    tool |= {"gen_ai.tool.call.arguments": json.dumps({"order": "SO-1"}), "gen_ai.tool.call.result": "lost"}
    with tracer.start_as_current_span("invoke_agent desk", attributes=agent) as root:
        for _ in range(5):
            with tracer.start_as_current_span("execute_tool lookup_order", attributes=tool):
                pass
        trace_id = f"{root.get_span_context().trace_id:032x}"
    provider.shutdown()
    return trace_id


def queued(daemon: RunningDaemon, number: int) -> list[dict[str, Any]]:
    """The runs that wait for review, once there are so many; else none."""
    found: list[dict[str, Any]] = daemon.get("/api/v1/reviews?state=waiting")["items"]
    return found if len(found) == number else []


def review(daemon: RunningDaemon, *words: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "trailhound"), "review", *words]
    environment = os.environ | {"TRAILHOUND_API": f"http://{daemon.api}"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_from_a_run_to_a_reviewed_case(tmp_path: Path) -> None:
    with RunningDaemon(configured(tmp_path, SETTINGS)) as daemon:
        traces = [loop(daemon), loop(daemon)]
        waiting = eventually(lambda: queued(daemon, 2))
        assert {(item["stratum"], item["outcome"]) for item in waiting} == {("fault", "partial")}
        runs = [daemon.get(f"/api/v1/trajectories/{trace}")["trajectory_id"] for trace in traces]

        status, made = post(daemon, "/api/v1/cases", {"trajectory_id": runs[0], "note": "seen twice"})
        assert (status, made["written"], made["proof"]["fails"]) == (201, True, True)
        case = yaml.safe_load(made["yaml"])
        assert (case["note"], case["attribution"], case["contract"]["loops"]["max_repeats"]) == ("seen twice", None, 2)
        assert Path(made["path"]).read_text() == made["yaml"]
        assert post(daemon, "/api/v1/cases", {"trajectory_id": traces[0]})[0] == 200
        status, same = post(daemon, "/api/v1/cases", {"trajectory_id": runs[1]})
        assert (status, same["matches"], same["case_id"]) == (200, True, made["case_id"])
        assert [item["case_id"] for item in daemon.get("/api/v1/cases?split=dev")["items"]] == [made["case_id"]]
        assert daemon.get(f"/api/v1/cases/{made['case_id']}")["yaml"] == made["yaml"]

        said = review(daemon, "judge", runs[1], "--verdict", "F", "--goal", "yes", "--steps", "no", "--tools", "yes",
                      "--context", "no", "--ending", "no", "--cause", "model", "--reason", "asks again", "--by", "ana")  # fmt: skip
        assert said.returncode == 0, said.stderr
        assert daemon.kill_child("monitor")
        eventually(lambda: review(daemon, "show", runs[1]).returncode == 0)
        assert "ana said F, model at fault: asks again" in review(daemon, "show", runs[1]).stdout
        assert "at fault model: 1" in review(daemon, "stats").stdout
        status, made = post(daemon, "/api/v1/cases", {"trajectory_id": runs[1], "anyway": True})
        assert status == 201, made
        assert yaml.safe_load(made["yaml"])["attribution"] == {"cause": "model", "by": "ana", "reason": "asks again"}


def test_what_is_refused(tmp_path: Path) -> None:
    with RunningDaemon(configured(tmp_path, SETTINGS)) as daemon:
        known = {"trajectory_id": "f" * 32}
        eventually(lambda: post(daemon, "/api/v1/cases", known)[0] == 404)  # 503 while the store is being opened
        assert post(daemon, "/api/v1/cases", {})[0] == 400
        assert post(daemon, "/api/v1/cases", known | {"into": "/tmp"})[0] == 400
        assert post(daemon, "/api/v1/cases", known, Origin="http://elsewhere.example")[0] == 403
        assert post(daemon, "/api/v1/cases", known, Content_Type="text/plain")[0] == 415
        assert post(daemon, f"/api/v1/reviews/{'f' * 32}/take", {"by": "ana"})[0] == 404
        assert post(daemon, f"/api/v1/reviews/{'f' * 32}/judge", {"by": "ana"})[0] == 400
        assert not (tmp_path / "data" / "cases").exists()
