"""`promote-trace` beyond one run: all runs of a rule, the last good run, secrets, and the same fault again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trailhound.document import finding_document, trajectory_document
from trailhound.evaluators.testset.case import read_case
from trailhound.testing_runs import make_call, make_finding, make_run

TASK = "Return SO-1, write to ana@mail.example"


def run(run_id: str, task: str = TASK) -> dict[str, Any]:
    calls = [make_call(n, "lookup_order", {"order_id": "SO-1"}, {"status": "lost"}) for n in range(1, 6)]
    details = {"tool": "lookup_order", "calls": 5, "max_repeats": 2}
    finding = make_finding("loop", "warning", *calls, details=details, trajectory_id=run_id)
    return trajectory_document(make_run(calls, [finding], trajectory_id=run_id, input=task, trace_ids=[run_id]))


GOOD = trajectory_document(
    make_run(
        [make_call(1, "lookup_order", {"order_id": "SO-1"}, "ok"), make_call(2, "create_label", {}, "ok")],
        trajectory_id="a" * 32,
        input=TASK,
    )
)


@pytest.fixture
def fed(daemon: Any) -> Any:
    """A daemon that knows three looping runs, two of them of one task, and a good one."""
    runs = [run("1" * 32), run("2" * 32), run("3" * 32, "another task")]
    findings = [finding_document(make_finding("loop", trajectory_id=r["trajectory_id"])) for r in runs]
    daemon.at = {
        "/api/v1/trajectories": [GOOD, *runs],
        "/api/v1/findings": [*findings, finding_document(make_finding("tool-error", "info", trajectory_id="4" * 32))],
        **{f"/api/v1/trajectories/{r['trajectory_id']}": r for r in [GOOD, *runs]},
    }
    return daemon


def test_the_last_good_run_is_found_and_learned_from(trailhound: Any, fed: Any, tmp_path: Path) -> None:
    out = trailhound(
        "promote", "1" * 32, "--into", tmp_path, "--api", fed.url, "--note", "seen twice", "--split", "dev"
    )
    (file,) = tmp_path.glob("*.yaml")
    case = read_case(file)
    assert (case.contract.must, case.note) == (["create_label"], "seen twice")
    assert case.proof is not None
    assert case.proof.good_passes is True
    assert "ana@mail.example" not in file.read_text()
    assert "1 email" not in out.out
    assert "email" in out.out


def test_redaction_can_be_switched_off(trailhound: Any, fed: Any, tmp_path: Path) -> None:
    trailhound("promote", "1" * 32, "--into", tmp_path, "--api", fed.url, "--no-redact")
    assert "ana@mail.example" in next(tmp_path.glob("*.yaml")).read_text()


def test_all_runs_of_a_rule(trailhound: Any, fed: Any, tmp_path: Path) -> None:
    words = ["promote", "--all", "--rule", "loop", "--since", "24h", "--into", tmp_path, "--api", fed.url]
    answer = json.loads(trailhound(*words, "--format", "json").out)
    assert [(item["written"], item["matches"]) for item in answer["items"]] == [
        (True, False),
        (False, True),
        (True, False),
    ]
    asked = next(query for path, query in fed.asked if path == "/api/v1/findings")
    assert asked["rule"] == "loop"
    assert asked["since"]
    again = json.loads(trailhound(*words, "--format", "json").out)
    assert not any(item["written"] for item in again["items"])
    assert len(list(tmp_path.iterdir())) == 2
    assert "same fault" in trailhound("promote", "2" * 32, "--into", tmp_path, "--api", fed.url).out
    trailhound("promote", "2" * 32, "--into", tmp_path, "--api", fed.url, "--anyway")
    assert len(list(tmp_path.iterdir())) == 3


def test_nothing_to_promote_is_said(trailhound: Any, fed: Any, tmp_path: Path) -> None:
    fed.at["/api/v1/findings"] = []
    out = trailhound("promote", "--all", "--into", tmp_path, "--api", fed.url)
    assert (out.code, out.out) == (0, "no run with such a finding\n")


@pytest.mark.parametrize("words", [[], ["x", "--all"], ["x", "--rule", "loop"], ["x", "--since", "2h"]])
def test_one_run_or_all_of_them(trailhound: Any, daemon: Any, words: list[str]) -> None:
    out = trailhound("promote", *words, "--api", daemon.url)
    assert out.code == 2
    assert out.err.count("\n") == 1
