"""The life of a run in a real daemon: over, late, judged again and told once, whoever is killed in between."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.unit.assemble.test_verdicts import ARGS, SECOND, START, agent, refund, span
from trailhound.clock import rfc3339
from trailhound.model import Record
from trailhound.testing_daemon import RunningDaemon, configured, eventually

pytestmark = pytest.mark.processes

SETTINGS = {
    "tools": [{"match": "refund", "risk": "high"}],
    "runs": {"grace": "1s", "idle": "5s"},
    "journal": {"segment_age": "200ms", "keep": "1s"},
    "approvals": {"complete": True, "hold": "1s"},
}
USERS = {1: "anna", 2: "bert"}
"""By the number of the trace. Both named their session `1`, and their calls alike."""


def named(trace: int) -> dict[str, Any]:
    return {"user.id": USERS[trace]}


def searches(trace: int) -> list[Record]:
    """The same question five times."""
    call = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "gen_ai.conversation.id": "1"}
    call |= {"gen_ai.tool.call.arguments": '{"q": "x"}', "gen_ai.tool.call.result": "nothing"} | named(trace)
    return [span(10 + n, 1 + n, call, trace=trace, parent=1) for n in range(5)]


def root(trace: int) -> Record:
    return agent(session="1", trace=trace, attributes=named(trace))


def call(trace: int) -> Record:
    return refund(session="1", trace=trace, attributes=named(trace))


def deliver(daemon: RunningDaemon, *records: Record) -> None:
    for record in records:
        eventually(lambda body=record.body: daemon.post(body) == 200, timeout_s=30)  # type: ignore[misc]


def approve(daemon: RunningDaemon, user: str) -> int:
    told = {"decision": "approved", "tool": "refund", "arguments": ARGS, "session_id": "1", "user_id": user}
    told |= {"decided_at": rfc3339(START + 5 * SECOND)}
    body, headers = json.dumps(told).encode(), {"Content-Type": "application/json"}
    request = urllib.request.Request(f"http://{daemon.api}/api/v1/approvals", body, headers)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return int(answer.status)


def run_of(daemon: RunningDaemon, trace: int) -> Any:
    return daemon.get(f"/api/v1/trajectories/{trace:032x}")


def standing(daemon: RunningDaemon) -> dict[tuple[str, str], Any]:
    """By user and rule, what is told of their runs."""
    users = {f"{trace:032x}": user for trace, user in USERS.items()}
    told = [f for f in daemon.all("/api/v1/findings") if f["scope"] == "trajectory" and f["state"] == "firing"]
    found = {(users[f["evidence"][0]["trace_id"]], f["rule"]): f for f in told}
    assert len(found) == len(told)
    return found


def so_many(daemon: RunningDaemon, number: int) -> dict[tuple[str, str], Any]:
    """What is told once it is that many."""
    return eventually(lambda: found if len(found := standing(daemon)) == number else {})


def alerts(daemon: RunningDaemon, rule: str) -> set[str]:
    return {alert["alert_id"] for alert in daemon.all("/api/v1/alerts") if alert["rule"] == rule}


@contextmanager
def until_killed(config: Path) -> Iterator[RunningDaemon]:
    """A daemon that ends by kill -9, of its children and of itself."""
    with RunningDaemon(config) as daemon:
        yield daemon
        for role in ("receiver", "monitor"):
            eventually(lambda role=role: daemon.kill_child(role))  # type: ignore[misc]
        daemon.kill()


def test_what_comes_late_is_judged_and_told_once_whoever_is_killed(tmp_path: Path) -> None:
    config = configured(tmp_path, SETTINGS)
    with until_killed(config) as daemon:
        for trace in USERS:
            deliver(daemon, *searches(trace), root(trace))
        eventually(lambda: all(run_of(daemon, trace)["status"] == "completed" for trace in USERS))
        before = so_many(daemon, 2)
        assert set(before) == {("anna", "loop"), ("bert", "loop")}
        loops = eventually(lambda: alerts(daemon, "loop"))
    with until_killed(config) as daemon:  # both calls come after their runs were over
        deliver(daemon, call(1), call(2))
        late = so_many(daemon, 4)
        assert {key: late[key] for key in before} == before
        assert [late[user, "approval"]["details"]["verdict"] for user in USERS.values()] == ["missing"] * 2
        assert [run_of(daemon, trace)["totals"]["tool_calls"] for trace in USERS] == [6, 6]
        eventually(lambda: alerts(daemon, "loop") == loops)
        told = eventually(lambda: alerts(daemon, "approval"))
    with until_killed(config) as daemon:  # evidence for one of them, in the session that both have
        assert eventually(lambda: approve(daemon, "bert")) == 201
        after = so_many(daemon, 3)
        assert set(after) == {*before, ("anna", "approval")}
        eventually(lambda: all(run_of(daemon, trace)["status"] == "completed" for trace in USERS))
    with RunningDaemon(config) as daemon:
        eventually(lambda: standing(daemon) == after)  # once the journal is read again
        eventually(lambda: (alerts(daemon, "loop"), alerts(daemon, "approval")) == (loops, told))
        eventually(lambda: daemon.get("/api/v1/stats")["spans"] == 2 * 7)
        eventually(lambda: daemon.metric("trailhound_conservation_residual") == 0)
