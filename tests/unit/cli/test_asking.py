"""The commands that ask a daemon: lists, one thing, and every way in which asking can go wrong."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from trailhound.document import trajectory_document
from trailhound.evaluators.testset.case import read_case
from trailhound.model import ApprovalVerdict
from trailhound.testing_runs import TRACE_ID, make_call, make_finding, make_run

CALL = make_call(1, "issue_refund", {"order_id": "SO-1"}, {"ok": True}, approval=ApprovalVerdict("missing"))
FINDING = make_finding(
    "approval", "critical", CALL, details={"tool": "issue_refund"}, summary="issue_refund ran without an approval"
)
RUN = trajectory_document(make_run([CALL], [FINDING]))
RUN_ID = RUN["trajectory_id"]
SESSION = {
    "session_id": "session-1", "tenant": "default", "service": "returns-desk", "agent": None, "user_id": None, "open": 1,
    "started_at": RUN["started_at"], "ended_at": None, "trajectories": 2, "totals": RUN["totals"],
}  # fmt: skip


ALERT: dict[str, Any] = {
    "alert_id": "a" * 32, "rule": "loop", "tenant": "default", "service": "shop", "agent": "desk", "severity": "critical",
    "state": "firing", "count": 3, "examples": [RUN_ID], "starts_at": RUN["started_at"], "ends_at": None,
}  # fmt: skip
SILENCE: dict[str, Any] = {
    "silence_id": "5" * 16, "rules": ["loop"], "services": ["*"], "agents": ["*"], "tenants": ["*"], "since": None,
    "until": RUN["started_at"], "reason": "migration", "source": "api",
}  # fmt: skip
BASELINE: dict[str, Any] = {
    "baseline_id": "b" * 32, "tenant": "default", "service": "shop", "agent": "desk", "task": None, "state": "pinned",
    "runs": 40, "flagged": 2, "latest_at": RUN["started_at"], "pinned_at": RUN["started_at"],
    "pinned_from": RUN["started_at"], "reason": "release 4",
    "metrics": {"turns": {"median": 3.0, "spread": 0.1, "runs": 38}, "tokens": None},
}  # fmt: skip


@pytest.fixture
def seeded(daemon: Any) -> Any:
    short = {key: value for key, value in RUN.items() if key != "steps"}
    daemon.at = {
        "/api/v1/trajectories": [short],
        f"/api/v1/trajectories/{RUN_ID}": RUN,
        f"/api/v1/trajectories/{TRACE_ID}": RUN,
        "/api/v1/findings": RUN["findings"],
        f"/api/v1/findings/{FINDING.finding_id}": RUN["findings"][0],
        "/api/v1/sessions": [SESSION],
        "/api/v1/alerts": [ALERT],
        f"/api/v1/alerts/{ALERT['alert_id']}": ALERT,
        "/api/v1/silences": {"items": [SILENCE]},
        "/api/v1/baselines": [BASELINE],
        f"/api/v1/baselines/{BASELINE['baseline_id']}": BASELINE,
    }
    return daemon


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["trajectories", "list"],
            [RUN_ID, "support_agent", "CRITICAL approval: issue_refund ran without an approval", "1 run: 1 completed"],
        ),
        (
            ["trajectories", "show", RUN_ID],
            ["CRITICAL  approval", 'issue_refund(order_id="SO-1")', "[no approval]", "◀ CRITICAL approval"],
        ),
        (["trajectories", "show", TRACE_ID], [RUN_ID]),
        (["findings", "list"], ["CRITICAL", "approval", "firing", FINDING.finding_id, RUN_ID]),
        (
            ["findings", "show", FINDING.finding_id],
            ["issue_refund ran", f"trailhound trajectories show {RUN_ID}", TRACE_ID],
        ),
        (["sessions", "list"], ["session-1", "2 (1 open)"]),
        (["sessions", "show", "session-1"], ["session session-1", RUN_ID]),
        (["alerts", "list"], [ALERT["alert_id"], "critical", "loop", "desk", "1 alert, 1 standing"]),
        (["alerts", "show", ALERT["alert_id"]], ["CRITICAL loop (firing)  3 findings", f"trajectories show {RUN_ID}"]),
        (["alerts", "silences"], [SILENCE["silence_id"], "loop", "1 silence"]),
        (["baseline", "list"], [BASELINE["baseline_id"], "pinned", "desk", "40", "1 baseline"]),
        (
            ["baseline", "show", BASELINE["baseline_id"]],
            ["40 runs known, 2 out of the ordinary", "release 4", "median 3 in 38 runs", "unknown"],
        ),
    ],
)
def test_text(words: list[str], said: list[str], trailhound: Any, seeded: Any) -> None:
    result = trailhound(*words, "--api", seeded.url)
    assert result.code == 0
    assert result.err == ""
    for each in said:
        assert each in result.out
    assert "\x1b" not in result.out
    assert not any(line.endswith(" ") for line in result.out.splitlines())


def test_a_rule_that_is_not_there_is_hinted_at_where_nothing_is_found(trailhound: Any, daemon: Any) -> None:
    daemon.at["/api/v1/findings"] = []
    for rule, said in (
        ("lop", "no rule of Trailhound is called `lop`; did you mean `loop`?"),
        ("loop", ""),
        ("my-own", ""),
    ):
        result = trailhound("findings", "list", "--rule", rule, "--api", daemon.url)
        assert (result.code, said in result.err, bool(result.err)) == (0, True, bool(said))


@pytest.mark.parametrize(
    ("words", "key", "number"),
    [
        (["trajectories", "list"], "items", 1),
        (["findings", "list"], "items", 1),
        (["sessions", "list"], "items", 1),
        (["sessions", "show", "session-1"], "trajectories", 1),
        (["trajectories", "show", RUN_ID], "steps", 2),
        (["alerts", "list"], "items", 1),
        (["alerts", "show", ALERT["alert_id"]], "examples", 1),
        (["alerts", "silences"], "items", 1),
        (["baseline", "list"], "items", 1),
        (["baseline", "show", BASELINE["baseline_id"]], "metrics", 2),
    ],
)
def test_json(words: list[str], key: str, number: int, trailhound: Any, seeded: Any) -> None:
    result = trailhound(*words, "--api", seeded.url, "--format", "json")
    assert result.code == 0
    assert len(json.loads(result.out)[key]) == number


def test_lists_are_read_page_by_page_up_to_the_limit(trailhound: Any, daemon: Any) -> None:
    daemon.at = {"/api/v1/findings": [dict(RUN["findings"][0], finding_id=f"{n:032x}") for n in range(450)]}
    items = json.loads(trailhound("findings", "list", "--api", daemon.url, "--format", "json", "--limit", 430).out)[
        "items"
    ]
    assert [item["finding_id"] for item in items] == [f"{n:032x}" for n in range(430)]
    assert [query["limit"] for _, query in daemon.asked] == ["200", "200", "30"]


def test_filters_are_passed_on(trailhound: Any, seeded: Any) -> None:
    trailhound(
        "findings",
        "list",
        "--api",
        seeded.url,
        "--rule",
        "loop",
        "--severity",
        "critical",
        "--since",
        "2h",
        "--agent",
        "a&b=c",
    )
    assert seeded.asked[0][1] == {
        "rule": "loop",
        "severity": "critical",
        "since": "2h",
        "agent": "a&b=c",
        "limit": "50",
    }


def test_the_address_may_come_from_the_environment(
    trailhound: Any, seeded: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAILHOUND_API", seeded.url)
    assert trailhound("trajectories", "list").code == 0


@pytest.mark.parametrize("kind", ["trajectories", "findings", "sessions"])
def test_an_unknown_id_is_one_line_and_exit_1(kind: str, trailhound: Any, daemon: Any) -> None:
    daemon.at = {"/api/v1/trajectories": [], "/api/v1/findings": []}
    result = trailhound(kind, "show", "nope/../x", "--api", daemon.url)
    assert result.code == 1
    assert result.err.startswith("trailhound: no ")
    assert "nope/../x" in result.err
    assert result.err.count("\n") == 1
    assert result.out == ""


def test_ids_cannot_reach_other_addresses(trailhound: Any, daemon: Any) -> None:
    trailhound("trajectories", "show", "../../metrics?x=1#y", "--api", daemon.url)
    assert daemon.asked == [("/api/v1/trajectories/..%2F..%2Fmetrics%3Fx%3D1%23y", {})]


def test_no_daemon_says_how_to_start_one(trailhound: Any) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        result = trailhound("findings", "list", "--api", f"http://127.0.0.1:{free.getsockname()[1]}")
    assert result.code == 1
    assert "start one with `trailhound serve`" in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("url", ["ftp://x", "nonsense", "http://", "http://127.0.0.1:99999999", "http://127.0.0.1:x"])
def test_an_address_that_is_none_is_wrong_usage(url: str, trailhound: Any) -> None:
    result = trailhound("findings", "list", "--api", url)
    assert result.code == 2
    assert result.err.startswith("trailhound: --api ")
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("status", "body", "code", "said"),
    [
        (503, b'{"detail": "store: opening"}', 1, "store: opening"),
        (400, b'{"title": "Bad", "detail": "unknown parameter"}', 2, "unknown parameter"),
        (404, b"Not Found", 2, "did not answer like a Trailhound daemon"),
        (200, b"<html>", 2, "did not answer like a Trailhound daemon"),
        (200, b"[]", 2, "did not answer like a Trailhound daemon"),
        (502, b"\xff\x1b[31m", 1, "answered 502"),
    ],
)
def test_answers_that_are_none(status: int, body: bytes, code: int, said: str, trailhound: Any, daemon: Any) -> None:
    daemon.status, daemon.body = status, body
    result = trailhound("findings", "list", "--api", daemon.url)
    assert (result.code, result.err.count("\n")) == (code, 1)
    assert said in result.err
    assert "\x1b" not in result.err


# ---------------------------------------------------------------- promote


def test_promote_writes_a_proved_case_once(trailhound: Any, seeded: Any, tmp_path: Path) -> None:
    first = trailhound("promote", TRACE_ID, "--into", tmp_path, "--api", seeded.url, "--by", "ana")
    second = trailhound("promote", RUN_ID, "--into", tmp_path, "--api", seeded.url)
    (file,) = tmp_path.iterdir()
    assert file.name == f"{TRACE_ID}-approval-issue-refund.yaml"
    assert (first.code, second.code) == (0, 0)
    assert first.out.startswith(f"written  {file}")
    assert second.out.startswith(f"already there  {file}")
    assert "issue_refund does not run without an approval" in first.out
    assert "proved" in first.out
    case = read_case(file)
    assert case.source.promoted_by == "ana"
    assert case.proof is not None
    assert case.proof.fails


def test_promote_as_json(trailhound: Any, seeded: Any, tmp_path: Path) -> None:
    answer = json.loads(trailhound("promote", RUN_ID, "--into", tmp_path, "--api", seeded.url, "--format", "json").out)
    assert answer["written"]
    assert answer["fails_on_its_own_trajectory"]
    assert Path(answer["path"]).exists()


def test_promote_of_an_unknown_id_writes_nothing(trailhound: Any, daemon: Any, tmp_path: Path) -> None:
    result = trailhound("promote", "feed", "--into", tmp_path / "cases", "--api", daemon.url)
    assert result.code == 1
    assert not (tmp_path / "cases").exists()


def test_promote_keeps_the_earlier_turns(trailhound: Any, seeded: Any, tmp_path: Path) -> None:
    before = {**RUN, "trajectory_id": "before", "input": "hello", "output": "hi"}
    seeded.at["/api/v1/trajectories"] = [RUN, before]
    trailhound("promote", RUN_ID, "--into", tmp_path, "--api", seeded.url)
    (file,) = tmp_path.iterdir()
    assert [turn.trajectory_id for turn in read_case(file).context] == ["before"]
    asked = next(query for path, query in seeded.asked if path == "/api/v1/trajectories")
    assert asked["session_id"] == "session-1"
    assert asked["until"] == RUN["started_at"]


def test_promote_of_something_that_is_no_run(trailhound: Any, daemon: Any, tmp_path: Path) -> None:
    daemon.at = {"/api/v1/trajectories/x": {"hello": "world"}}
    result = trailhound("promote", "x", "--into", tmp_path / "cases", "--api", daemon.url)
    assert result.code == 2
    assert result.err.count("\n") == 1
