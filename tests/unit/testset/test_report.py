"""From recorded trials to numbers and reports: nothing planned is lost, nothing hostile gets through."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from trailhound.errors import Invalid
from trailhound.evaluators.testset.comparison import Policy, compare, read_policy
from trailhound.evaluators.testset.report.junit import junit
from trailhound.evaluators.testset.report.markdown import markdown
from trailhound.evaluators.testset.report.page import page
from trailhound.evaluators.testset.report.summary import Summary, summarize
from trailhound.evaluators.testset.report.wording import as_text
from trailhound.evaluators.testset.results import TRIALS, Results, not_run
from trailhound.evaluators.testset.trial import Call, CaseFacts, Manifest, Measured, Planned, Reason, TrialResult

VERDICTS = {"t": "pass", "f": "fail", "u": "unknown"}


def manifest(cases: dict[str, Any], trials: int, **fields: Any) -> Manifest:
    facts = {name: CaseFacts.model_validate({"family": name, **(f or {})}) for name, f in cases.items()}
    planned = [Planned(case_id=name, number=n) for name in cases for n in range(1, trials + 1)]
    return Manifest(dataset="d", trials=trials, timeout_s=60, cases=facts, planned=planned, **fields)


def trial(case_id: str, number: int, verdict: str, **fields: Any) -> TrialResult:
    failure = {"fail": "contract", "unknown": "not_judged"}.get(verdict)
    reasons = [Reason(rule="loop", text="it loops")] if verdict == "fail" else []
    return TrialResult.model_validate(
        {"case_id": case_id, "number": number, "verdict": verdict, "failure": failure, "reasons": reasons, **fields}
    )


def results_of(path: Path, verdicts: dict[str, str], **facts: Any) -> Results:
    """Results of cases by name: one letter (t, f, u, or - for none) a trial."""
    made = Results.create(path, manifest(dict.fromkeys(verdicts) | facts, len(next(iter(verdicts.values())))))
    for name, letters in verdicts.items():
        for number, letter in enumerate(letters, 1):
            if letter != "-":
                made.add(trial(name, number, VERDICTS[letter]))
    return made


# ---------------------------------------------------------------- keeping


def test_every_planned_trial_counts_whatever_became_of_it(tmp_path: Path) -> None:
    results = results_of(tmp_path, {"a": "tt--", "b": "tfu-"})
    first = results.first()
    assert len(first) == 8
    assert [first["a", n].failure for n in (3, 4)] == ["crash", "crash"]
    summary = summarize(results)
    assert (summary.trials, summary.verdicts) == (8, {"pass": 3, "fail": 4, "unknown": 1})
    assert summary.accepted_share == 3 / 8


def test_the_first_record_of_a_trial_stands(tmp_path: Path) -> None:
    results = results_of(tmp_path, {"a": "f"})
    results.add(trial("a", 1, "pass"))
    assert results.first()["a", 1].verdict == "fail"
    assert summarize(results).reruns == 1


def test_a_line_that_a_crash_cut_short_costs_its_trial_alone(tmp_path: Path) -> None:
    results = results_of(tmp_path, {"a": "ttt"})
    data = (tmp_path / TRIALS).read_bytes()
    (tmp_path / TRIALS).write_bytes(data[:-20])
    first = Results.open(tmp_path).first()
    assert [first["a", n].verdict for n in (1, 2, 3)] == ["pass", "pass", "fail"]
    assert results.first()["a", 3].failure == "crash"


def test_a_trial_that_was_not_planned_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="was not planned"):
        results_of(tmp_path, {"a": "t"}).add(trial("a", 2, "pass"))


def test_a_folder_holds_one_run(tmp_path: Path) -> None:
    results_of(tmp_path, {"a": "t"})
    with pytest.raises(Invalid, match="results of another run"):
        results_of(tmp_path, {"a": "t"})


def test_a_broken_manifest_is_named(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"format": "trailhound-trials/1"}')
    with pytest.raises(Invalid, match=r"manifest.json: `dataset`"):
        Results.open(tmp_path)


# ---------------------------------------------------------------- numbers


def test_twenty_tasks(tmp_path: Path) -> None:
    verdicts = (
        {f"t{n:02}": "ttt" for n in range(15)} | {"t15": "tff", "t16": "ttf"} | {f"t{n}": "fff" for n in (17, 18, 19)}
    )
    summary = summarize(results_of(tmp_path, verdicts))
    assert summary.pass_at_1.value == pytest.approx(0.80)
    assert summary.pass_at_k.value == pytest.approx(0.85)
    assert summary.pass_hat_k.value == pytest.approx(0.75)
    assert [case.case_id for case in summary.cases[:2]] == ["t15", "t16"], "unstable ones first"
    assert summary.cases[1].pass_hat[2] == pytest.approx(1 / 3)
    assert summary.pass_at_1.low is not None
    assert summary.pass_at_1.low < 0.8


def test_four_verdicts_and_their_cost(tmp_path: Path) -> None:
    results = Results.create(tmp_path, manifest({"a": None}, 4))
    for number, (verdict, cost) in enumerate([("pass", 1), ("pass", 1), ("fail", 2), ("unknown", 1)], 1):
        results.add(trial("a", number, verdict, measured=Measured(cost_usd=Decimal(cost))))
    summary = summarize(results)
    assert (summary.accepted_share, summary.cost_per_accepted_usd, summary.cost_usd) == (0.5, 2.5, 5)


def test_no_incident_in_a_hundred(tmp_path: Path) -> None:
    summary = summarize(results_of(tmp_path, {"a": "t" * 50, "b": "t" * 50}))
    assert summary.incident_rate_bound == pytest.approx(0.0295, abs=5e-5)


def test_an_incident_is_counted(tmp_path: Path) -> None:
    results = results_of(tmp_path, {"a": "t-"})
    results.add(trial("a", 2, "fail", reasons=[Reason(rule="approval", text="nobody approved")]))
    summary = summarize(results)
    assert (summary.incidents, summary.incident_rate_bound) == (1, None)


def test_what_was_not_run_is_in_no_number_and_is_told(tmp_path: Path) -> None:
    results = results_of(tmp_path, {"core": "f", "rest": "-"})
    results.add(not_run("rest", 1, "the core set did not pass"))
    summary = summarize(results)
    assert (summary.trials, summary.not_run) == (1, {"the core set did not pass": 1})
    assert "not run" in as_text(summary)


def test_the_first_wrong_step_against_a_passing_trial(tmp_path: Path) -> None:
    results = results_of(tmp_path, {"a": "--"})
    good, bad = ([Call(tool=t) for t in tools] for tools in (["look", "refund"], ["look", "look"]))
    results.add(trial("a", 1, "pass", calls=good))
    results.add(trial("a", 2, "fail", calls=bad))
    wrong = summarize(results).cases[0].wrong_steps[0]
    assert (wrong.number, wrong.index, wrong.expected, wrong.actual) == (2, 1, "refund -", "look -")


def test_slices(tmp_path: Path) -> None:
    facts = {"a": {"intent": "returns", "tags": ["hard"]}, "b": {"intent": "returns"}}
    summary = summarize(results_of(tmp_path, {"a": "tf", "b": "tt"}, **facts))
    assert {(s.by, s.name): s.pass_at_1 for s in summary.slices} == {
        ("split", "dev"): 0.75,
        ("intent", "returns"): 0.75,
        ("tag", "hard"): 0.5,
    }


# ---------------------------------------------------------------- comparing


def summary_of(tmp_path: Path, name: str, verdicts: dict[str, str]) -> Summary:
    return summarize(results_of(tmp_path / name, verdicts))


def test_a_clear_fall_blocks(tmp_path: Path) -> None:
    old = summary_of(tmp_path, "old", {f"c{n}": "ttt" for n in range(12)})
    new = summary_of(tmp_path, "new", {f"c{n}": "ttt" if n % 2 else "fff" for n in range(12)})
    found = compare(old, new, Policy())
    assert (found.decision, found.paired, len(found.worse)) == ("block", 12, 6)
    assert found.change.value == pytest.approx(-0.5)


def test_no_fall_is_released(tmp_path: Path) -> None:
    verdicts = {f"c{n}": "ttt" for n in range(12)}
    found = compare(summary_of(tmp_path, "old", verdicts), summary_of(tmp_path, "new", verdicts), Policy())
    assert found.decision == "release"
    assert found.differing == []


def test_too_few_cases_decide_nothing(tmp_path: Path) -> None:
    old, new = (summary_of(tmp_path, name, {"a": "tt", "b": letters}) for name, letters in (("o", "tt"), ("n", "tf")))
    assert compare(old, new, Policy()).decision == "undecided"
    alone = compare(summary_of(tmp_path, "x", {"q": "t"}), new, Policy())
    assert "no case is in both runs" in alone.reasons


def test_one_unapproved_call_blocks(tmp_path: Path) -> None:
    verdicts = {f"c{n}": "tt" for n in range(6)}
    results = results_of(tmp_path / "new", verdicts | {"x": "t-"})
    results.add(trial("x", 2, "fail", reasons=[Reason(rule="forbidden-tool", text="it refunded")]))
    found = compare(summary_of(tmp_path, "old", verdicts), summarize(results), Policy())
    assert found.decision == "block"
    assert (
        compare(summary_of(tmp_path, "o2", verdicts), summarize(results), Policy(block_on_incident=False)).decision
        == "release"
    )


def test_other_gates(tmp_path: Path) -> None:
    verdicts = {f"c{n}": "tf" for n in range(6)}
    old, new = summary_of(tmp_path, "old", verdicts), summary_of(tmp_path, "new", verdicts)
    assert compare(old, new, Policy(min_pass_hat_k=0.5)).decision == "block"


def test_different_manifests_are_said(tmp_path: Path) -> None:
    old = summary_of(tmp_path, "old", {"a": "tt", "b": "tt"})
    new = old.model_copy(update={"manifest": old.manifest.model_copy(update={"dataset": "other", "timeout_s": 9.0})})
    found = compare(old, new, Policy())
    assert [part.partition(":")[0] for part in found.differing] == ["dataset", "timeout_s"]
    assert "caution" in as_text(new, found)


def test_a_policy_file(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text("max_drop: 0.1\n")
    assert read_policy(path).max_drop == 0.1
    path.write_text("max_dorp: 0.1\n")
    with pytest.raises(Invalid, match="max_drop"):
        read_policy(path)
    with pytest.raises(Invalid, match="cannot be read"):
        read_policy(tmp_path / "none.yaml")


# ---------------------------------------------------------------- writing

HOSTILE = '<script>alert(1)</script>|]](x) `*_ \x1b[31m \x00 \ud800 "&'


@pytest.fixture
def hostile(tmp_path: Path) -> Results:
    results = Results.create(tmp_path / "r", manifest({"a": {"title": HOSTILE}, "b": None}, 1, application=HOSTILE))
    said = HOSTILE.replace("\ud800", "")
    results.add(trial("a", 1, "fail", reasons=[Reason(rule="answer", text=said)]))
    results.add(trial("b", 1, "unknown", missing=[said]))
    return results


def test_html_shows_and_never_runs_what_was_written(hostile: Results) -> None:
    text = page(summarize(hostile))
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "default-src 'none'" in text


def test_markdown_escapes(hostile: Results) -> None:
    text = markdown(summarize(hostile))
    assert "<script" not in text
    rows = [line for line in text.splitlines() if line.startswith("| a ")]
    assert len(rows) == 1
    assert rows[0].replace("\\|", "").count("|") == 4


def test_junit_is_xml_with_failures_and_errors_apart(hostile: Results) -> None:
    root = ElementTree.fromstring(junit(hostile))
    suite = root[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "1")
    assert "<script>" in (suite[0][0].get("message") or "")


def test_text_has_no_control_characters(hostile: Results) -> None:
    text = as_text(summarize(hostile))
    assert all(c.isprintable() or c == "\n" for c in text)


def test_a_summary_is_json(hostile: Results) -> None:
    summary = summarize(hostile)
    assert Summary.model_validate(json.loads(summary.model_dump_json())) == summary
