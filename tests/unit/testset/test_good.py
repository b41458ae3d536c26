"""What a case learns from the last run that did the same task well, and when two failures are one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trailhound.document import trajectory_document
from trailhound.evaluators.testset.case import Case
from trailhound.evaluators.testset.folder import CaseFolder
from trailhound.evaluators.testset.good import last_good
from trailhound.evaluators.testset.promote import build_case, put_case
from trailhound.evaluators.testset.redaction import Redactor
from trailhound.evaluators.testset.signature import signature_of
from trailhound.evaluators.testset.verdict import Attempted, judge_trial
from trailhound.model import Trajectory
from trailhound.testing_runs import make_call, make_finding, make_run

TASK = "Return SO-1, I am ana@mail.example"


def bad(run_id: str = "b" * 32, tool: str = "lookup_order", **fields: Any) -> dict[str, Any]:
    calls = [make_call(n, tool, {"order_id": "SO-1"}, {"status": "lost"}) for n in range(1, 6)]
    finding = make_finding("loop", "warning", *calls, details={"tool": tool, "calls": 5, "max_repeats": 2})
    run = make_run(calls, [finding], trajectory_id=run_id, **{"input": TASK} | fields)
    run.run.trace_ids = [run_id]
    return trajectory_document(run)


def good_run(**fields: Any) -> Trajectory:
    steps = [make_call(1, "lookup_order", {"order_id": "SO-1"}, "ok"), make_call(2, "create_label", {"o": 1}, "ok")]
    return make_run(steps, trajectory_id="a" * 32, **{"input": TASK} | fields)


def good(**fields: Any) -> dict[str, Any]:
    return trajectory_document(good_run(**fields))


def test_the_last_good_run_of_the_same_task() -> None:
    others = [bad(), good(input="another task"), good(status="failed"), good(agent="other"), good()]
    found = last_good(bad("c" * 32), others)
    assert found is not None
    assert (found["agent"], found["input"], found["status"]) == ("support_agent", TASK, "completed")
    assert last_good(bad(), [bad()]) is None
    assert last_good(bad(input=None), [good(input=None)]) is None, "no input is no task"


def test_what_the_good_run_did_must_be_done() -> None:
    case = build_case(bad(), good=good())
    assert case.contract.must == ["create_label"]
    assert case.good is not None
    assert [call.split(" ")[0] for call in case.good.calls] == ["lookup_order", "create_label"]
    assert case.proof is not None
    assert (case.proof.fails, case.proof.good_passes) == (True, True)
    assert judge_trial(case, 1, Attempted(good_run(), "done")).verdict == "pass"


def test_a_contract_that_the_good_run_breaks_is_told() -> None:
    calls = [make_call(n, "lookup_order", {"order_id": "SO-1"}, {"status": "lost"}) for n in range(1, 5)]
    case = build_case(bad(), good=trajectory_document(make_run(calls, input=TASK)))
    assert case.proof is not None
    assert case.proof.good_passes is False


def test_redaction_leaves_equal_things_equal() -> None:
    case = build_case(bad(), good=good(), redactor=Redactor(b"k"))
    assert "ana@mail.example" not in case.to_yaml()
    assert case.contract.must == ["create_label"]
    assert case.redacted == {"email": 2}
    assert case.proof is not None
    assert case.proof.good_passes is True


def test_signatures_tell_faults_apart() -> None:
    assert signature_of(bad()) == signature_of(bad("c" * 32))
    assert signature_of(bad()) != signature_of(bad(tool="refund"))


def put(path: Path, run: dict[str, Any], **options: Any) -> tuple[bool, bool]:
    with CaseFolder(path) as folder:
        promoted = put_case(folder, build_case(run), **options)
    return promoted.written, promoted.matches


def test_the_same_fault_at_the_same_task_is_one_case(tmp_path: Path) -> None:
    assert put(tmp_path, bad(), anyway=False) == (True, False)
    assert put(tmp_path, bad(), anyway=False) == (False, False), "the same run is already there"
    assert put(tmp_path, bad("c" * 32), anyway=False) == (False, True)
    assert put(tmp_path, bad("d" * 32, input="another task"), anyway=False) == (True, False)
    assert put(tmp_path, bad("e" * 32, tool="refund"), anyway=False) == (True, False)
    assert put(tmp_path, bad("c" * 32), anyway=True) == (True, False)
    assert len(list(tmp_path.iterdir())) == 4


def test_a_case_of_an_older_version_is_read(tmp_path: Path) -> None:
    document = build_case(bad()).model_dump(mode="json")
    for name in ("signature", "good", "note", "redacted"):
        del document[name]
    assert Case.model_validate(document).signature is None
