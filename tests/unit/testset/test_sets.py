"""Linting, dealing and rotating a test set, and its way through the formats of other tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trailhound.errors import Invalid
from trailhound.evaluators.testset.case import read_case
from trailhound.evaluators.testset.exchange.base import formats
from trailhound.evaluators.testset.lint import contradictions, lint
from trailhound.evaluators.testset.loading import load_testset
from trailhound.evaluators.testset.split import Rotations, Shares, dealt, rotated, set_split

# ---------------------------------------------------------------- lint


def complaints(path: Path) -> list[tuple[str, str]]:
    return [(c.level, c.text) for c in lint(load_testset([path]))]


def test_a_sound_case_has_no_complaint(make_case: Any, folder: Any) -> None:
    assert complaints(folder(make_case(contract={"must": ["lookup_order"]}))) == []


def test_a_case_that_the_null_agent_passes_is_reported(make_case: Any, folder: Any) -> None:
    [(level, text)] = complaints(folder(make_case()))
    assert level == "warning"
    assert "does nothing passes" in text


def test_a_case_that_its_own_run_passes_is_reported(make_case: Any, folder: Any) -> None:
    case = make_case(contract={"loops": {"max_repeats": 9}, "must": ["lookup_order"]})
    assert any("own recorded run passes" in text for _, text in complaints(folder(case)))


def test_a_family_on_both_sides_of_a_split_is_an_error(make_case: Any, folder: Any) -> None:
    one, two = make_case(1, family="f", split="dev"), make_case(2, family="f", split="holdout")
    assert any(level == "error" and "both sides" in text for level, text in complaints(folder(one, two)))


def test_files_that_are_no_cases_are_named(make_case: Any, folder: Any) -> None:
    path = folder(make_case(contract={"must": ["lookup_order"]}))
    (path / "odd.yaml").write_text("format: something\n")
    (path / "twin.yaml").write_text(make_case().to_yaml())
    texts = [text for level, text in complaints(path) if level == "error"]
    assert len(texts) == 2
    assert "odd.yaml" in texts[0]
    assert "is taken by" in texts[1]


@pytest.mark.parametrize(
    ("contract", "found"),
    [
        ({"must": ["a"], "must_not": ["a"]}, "`a` is in `must` and in `must_not`"),
        ({"order": {"tools": ["a", "b"]}, "must_not": ["b"]}, "`b` is in `order` and in `must_not`"),
        ({"order": {"mode": "EXACT", "tools": ["a"]}, "must": ["b"]}, "the exact `order` leaves it out"),
        ({"must": ["a", "b"], "budget": {"tool_calls": 2}}, "used up at 2"),
        ({"arguments": {"a": {"x": {"between": [5, 1]}}}}, "runs from 5 to 1"),
        ({"arguments": {"a": {"x": {"one_of": []}}}}, "`one_of` is empty"),
    ],
)
def test_contradictions(make_case: Any, contract: dict[str, Any], found: str) -> None:
    assert any(found in text for text in contradictions(make_case(contract=contract).contract))


def test_a_tool_that_the_agent_does_not_have(make_case: Any, folder: Any) -> None:
    case = make_case(contract={"must": ["lookup_order", "refund"]}, environment={"tools": ["lookup_order"]})
    assert any(
        "`refund` must be called, and the agent has no such tool" in text for _, text in complaints(folder(case))
    )


def test_a_pattern_that_cannot_be_judged_by(make_case: Any, folder: Any) -> None:
    case = make_case(contract={"arguments": {"a": {"x": {"matches": "("}}}})
    assert any(level == "error" and "cannot be judged" in text for level, text in complaints(folder(case)))


# ---------------------------------------------------------------- split


def test_families_stay_together_and_shares_are_met(make_case: Any, folder: Any) -> None:
    cases = [make_case(n, family=f"f{n // 2}") for n in range(60)]
    shares = Shares(holdout=0.3, regression=0.3)
    found = dealt(load_testset([folder(*cases)]), shares)
    by_family = {(n // 2): {found[f"case-{n - n % 2}"], found[f"case-{n - n % 2 + 1}"]} for n in range(60)}
    assert all(len(splits) == 1 for splits in by_family.values())
    many = [shares.of(f"family {n}") for n in range(4000)]
    assert many.count("holdout") / 4000 == pytest.approx(0.3, abs=0.03)
    assert many.count("dev") / 4000 == pytest.approx(0.4, abs=0.03)


def test_only_the_line_of_the_split_changes(make_case: Any, folder: Any) -> None:
    path = folder(make_case()) / "case-1.yaml"
    before = "# my own words\n" + path.read_text() + "# and after\n"
    path.write_text(before)
    set_split(path, "holdout")
    assert path.read_text() == before.replace("\nsplit: dev\n", "\nsplit: holdout\n")
    assert read_case(path).split == "holdout"


def test_a_text_that_looks_like_the_line_is_left_alone(make_case: Any, folder: Any) -> None:
    path = folder(make_case(note="first\nsplit: dev\nlast")) / "case-1.yaml"
    set_split(path, "regression")
    assert read_case(path).note == "first\nsplit: dev\nlast"


def test_rotation_moves_a_fifth_and_is_the_same_again(make_case: Any, folder: Any) -> None:
    cases = [make_case(n, family=f"f{n}", split="holdout" if n < 20 else "dev") for n in range(40)]
    testset = load_testset([folder(*cases)])
    moved = rotated(testset, "2026-11")
    left = [c for c in moved if testset.cases[c].split == "holdout" and moved[c] == "regression"]
    came = [c for c in moved if testset.cases[c].split == "dev" and moved[c] == "holdout"]
    assert (len(left), len(came)) == (4, 4)
    assert rotated(testset, "2026-11") == moved
    assert rotated(testset, "2026-12") != moved
    with pytest.raises(Invalid, match="no month"):
        rotated(testset, "November")


def test_a_month_is_rotated_once(tmp_path: Path) -> None:
    log = Rotations(tmp_path)
    assert not log.has("2026-11")
    log.add("2026-11", {"a": "regression"})
    assert log.has("2026-11")
    log.path.write_text("nonsense\n")
    with pytest.raises(Invalid, match="no record of rotations"):
        log.has("2026-11")


# ---------------------------------------------------------------- exchange

TYPES = {"a": 1, "b": 1.5, "c": "1", "d": None, "e": True, "f": [], "g": {"h": [{"i": "10:30"}, 2]}, "j": "2026-11-30"}
WRITTEN_AND_READ = [name for name, form in formats().items() if not form.single]


@pytest.mark.parametrize("name", WRITTEN_AND_READ)
def test_a_round_trip_keeps_everything(make_case: Any, name: str) -> None:
    contract = {"answer": {"equals": TYPES, "contains": ["x"], "rubric": "polite?"}, "must": ["lookup_order"]}
    contract |= {"budget": {"cost_usd": 0.5, "duration": 90}, "must_not": ["refund"]}
    cases = [
        make_case(1, contract=contract, input=TYPES),
        make_case(2, input=[TYPES, "text"]),
        make_case(3, input=None),
    ]
    assert formats()[name].read(formats()[name].write(cases)) == cases


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("langsmith", '{"inputs": {"question": "2+2?", "n": 1}, "outputs": {"answer": 4}}'),
        ("langfuse", '{"input": {"question": "2+2?", "n": 1}, "expectedOutput": {"answer": 4}}'),
        (
            "promptfoo",
            'tests: [{vars: {question: "2+2?", n: 1}, assert: [{type: equals, value: {answer: 4}}, {type: contains, value: "4"}]}]',
        ),
    ],
)
def test_foreign_items_become_cases(name: str, text: str) -> None:
    [case] = formats()[name].read(text)
    assert case.input == {"question": "2+2?", "n": 1}
    assert case.contract.answer is not None
    assert case.contract.answer.equals == {"answer": 4}
    assert case.trajectory().steps == []


def test_a_foreign_evaluation_set_becomes_cases() -> None:
    turn = {
        "user_content": {"parts": [{"text": "refund SO-1"}]},
        "final_response": {"parts": [{"text": "done"}]},
        "intermediate_data": {"tool_uses": [{"name": "lookup_order", "args": {}}]},
    }
    [case] = formats()["agentevals"].read(json.dumps({"eval_cases": [{"eval_id": "e1", "conversation": [turn]}]}))
    assert (case.input, case.contract.must) == ("refund SO-1", ["lookup_order"])
    assert case.contract.answer is not None
    assert case.contract.answer.equals == "done"


@pytest.mark.parametrize("name", WRITTEN_AND_READ)
@pytest.mark.parametrize("text", ["{", "[1]", "a: [b"])
def test_other_files_are_refused(name: str, text: str) -> None:
    with pytest.raises(Invalid):
        formats()[name].read(text)


def test_a_pytest_file_compiles_and_holds_one_case(make_case: Any) -> None:
    case = make_case(title='odd """ title \\ \u2028', input="quotes ''' and \"\"\" and \\")
    text = formats()["pytest"].write([case])
    compile(text, "case", "exec")
    with pytest.raises(Invalid, match="holds one case"):
        formats()["pytest"].write([case, case])
