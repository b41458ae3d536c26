"""A decision told over the API: on disk before it is answered, found again after kill -9, good for the call that follows."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from trailhound.testing_daemon import RunningDaemon, configured, eventually

pytestmark = pytest.mark.processes

ARGUMENTS = {"order": "SO-1", "amount": 249}
SETTINGS = {
    "tools": [{"match": "refund", "risk": "high"}],
    "approvals": {"complete": True, "hold": "1s"},
    "journal": {"segment_age": "200ms", "keep": "1s"},
}


def tell(daemon: RunningDaemon, told: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    request = urllib.request.Request(
        f"http://{daemon.api}/api/v1/approvals", json.dumps(told).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def refund(daemon: RunningDaemon, session: str) -> str:
    """An agent that refunds, traced by the SDK; its trace id."""
    provider = TracerProvider(resource=Resource({"service.name": "shop"}))
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(endpoint=f"http://{daemon.http}/v1/traces")))
    tracer = provider.get_tracer("test")
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "desk", "gen_ai.conversation.id": session}
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "refund"}
    tool |= {"gen_ai.tool.call.arguments": json.dumps(ARGUMENTS), "gen_ai.tool.call.result": "done"}
    with tracer.start_as_current_span("invoke_agent desk", attributes=agent) as root:
        with tracer.start_as_current_span("execute_tool refund", attributes=tool):
            pass
        trace_id = f"{root.get_span_context().trace_id:032x}"
    provider.shutdown()
    return trace_id


def verdict(daemon: RunningDaemon, trace_id: str) -> str:
    steps = daemon.get(f"/api/v1/trajectories/{trace_id}")["steps"]
    return next((s["approval"]["verdict"] for s in steps if s["approval"]), "")  # none: it came, and is not judged yet


def test_an_approval_outlives_the_daemon_and_its_journal(tmp_path: Path) -> None:
    config = configured(tmp_path, SETTINGS)
    told = {"decision": "approved", "tool": "refund", "arguments": ARGUMENTS, "session_id": "s1", "actor_id": "anna"}
    with RunningDaemon(config) as daemon:
        status, answer = tell(daemon, told)
        assert (status, answer["decision"], answer["actor_type"]) == (201, "approved", "human")
        assert tell(daemon, {"decision": "approved"})[0] == 400
        other = refund(daemon, "s2")  # moves the journal on
        assert eventually(lambda: verdict(daemon, other) == "missing")
        eventually(lambda: list((tmp_path / "data").glob("approvals-*.jsonl")))
        for role in ("receiver", "monitor"):
            daemon.kill_child(role)
        daemon.kill()
    with RunningDaemon(config) as daemon:
        first, second = refund(daemon, "s1"), refund(daemon, "s1")
        # held for a second only: on a slow machine the call is judged before the agent's span brings the session
        assert eventually(lambda: verdict(daemon, first) == "approved")
        assert eventually(lambda: verdict(daemon, second) == "missing")  # one approval covers one call
        assert verdict(daemon, first) == "approved"
        [finding] = eventually(lambda: [f for f in daemon.all("/api/v1/findings") if f["session_id"] == "s1"])
        assert (finding["rule"], finding["severity"]) == ("approval", "critical")
        assert "it covers another call" in finding["details"]["approval_evidence"]
