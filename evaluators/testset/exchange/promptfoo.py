"""promptfoo tests: a YAML list of `vars`, `assert` and `metadata`, for the key `tests:` of its configuration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml

from trailhound.errors import Invalid
from trailhound.evaluators.testset.answer import as_text
from trailhound.evaluators.testset.case import Case
from trailhound.evaluators.testset.contract import Answer, Contract
from trailhound.evaluators.testset.exchange.base import CARRIED, Format, carried, foreign, uncarried
from trailhound.evaluators.testset.notation import CaseDumper, load


class Promptfoo(Format):
    """What promptfoo can assert is asserted (texts, cost, time, tools called and not called); the rest is carried."""

    name = "promptfoo"
    suffix = ".yaml"

    def write(self, cases: Sequence[Case]) -> str:
        tests = [_test(case) for case in cases]
        return str(yaml.dump({"tests": tests}, Dumper=CaseDumper, sort_keys=False, allow_unicode=True, width=120))

    def read(self, text: str) -> list[Case]:
        tests = load(text.encode()).get("tests")
        if not isinstance(tests, list):
            raise Invalid("`tests` is no list: is this a promptfoo configuration?", reason="exchange")
        return [_case(test, f"tests.{number}") for number, test in enumerate(tests)]


def _test(case: Case) -> dict[str, Any]:
    return {
        "description": case.title,
        "vars": case.input if isinstance(case.input, dict) else {"input": case.input},
        "assert": _assertions(case.contract),
        "metadata": {"family": case.family, "split": case.split, CARRIED: carried(case)},
    }


def _assertions(contract: Contract) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    answer, budget = contract.answer, contract.budget
    if answer is not None:
        found += [{"type": "contains", "value": text} for text in answer.contains]
        found += [{"type": "regex", "value": answer.matches}] if answer.matches is not None else []
        found += [{"type": "equals", "value": as_text(answer.equals)}] if answer.equals is not None else []
        found += [{"type": "llm-rubric", "value": answer.rubric}] if answer.rubric is not None else []
    if budget is not None and budget.cost_usd is not None:
        found.append({"type": "cost", "threshold": budget.cost_usd})
    if budget is not None and budget.duration is not None:
        found.append({"type": "latency", "threshold": round(budget.duration * 1000)})
    found += [{"type": "trajectory:tool-used", "value": tool} for tool in contract.must]
    found += [{"type": "not-trajectory:tool-used", "value": tool} for tool in contract.must_not]
    return found


def _case(test: Any, where: str) -> Case:
    if not isinstance(test, dict):
        raise Invalid(f"{where}: no mapping", reason="exchange")
    ours = uncarried(test.get("metadata"), where)
    if ours is not None:
        return ours
    given = test.get("vars")
    alone = given["input"] if isinstance(given, dict) and list(given) == ["input"] else given
    asserted = [a for a in test.get("assert") or [] if isinstance(a, dict)]
    expected = next((a.get("value") for a in asserted if a.get("type") == "equals"), None)
    case = foreign(test.get("description"), alone, expected, "promptfoo")
    contains = [str(a["value"]) for a in asserted if a.get("type") == "contains" and "value" in a]
    if contains:
        case.contract.answer = case.contract.answer or Answer()
        case.contract.answer.contains = contains
    return case
