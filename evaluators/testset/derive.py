"""From what went wrong to what is demanded: the contract that the recorded run broke."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from trailhound.demands import ArgumentCheck, Order
from trailhound.evaluators.testset.contract import Budget, Contract, Loops

FAILING = frozenset({"warning", "critical"})
NORMAL = 1.5
"""Times the baseline's median that a run may use (the live rule's own default, `regression.over: 0.5`)."""


def contract_of(run: dict[str, Any]) -> Contract:
    """The demands that the findings of a trajectory document say were not met; none for a run without any."""
    contract = Contract()
    for finding in standing(run):
        derive = _DERIVE.get(finding["rule"])
        if derive is not None:
            derive(contract, finding)
    if run["status"] in ("failed", "unfinished"):
        contract.ends = "completed"
    return contract


def standing(run: dict[str, Any]) -> list[dict[str, Any]]:
    """The findings that make a case: not resolved, and a warning at least."""
    return [f for f in run["findings"] if f["state"] != "resolved" and f["severity"] in FAILING]


def underived(run: dict[str, Any], contract: Contract) -> list[str]:
    """What a person must know about findings that gave no demand."""
    notes = []
    for finding in standing(run):
        if finding["rule"] not in _DERIVE:
            notes.append(
                f"the finding `{finding['rule']}` has no demand of its own: say in `contract` what should have happened"
            )
        elif not _gives(finding) and finding["scope"] == "trajectory":
            notes.append(f"the finding `{finding['rule']}` names nothing that a budget can hold: it is no demand")
        elif finding["scope"] != "trajectory":
            notes.append(
                f"the finding `{finding['rule']}` is about the whole {finding['scope']}; this case holds one run of it"
            )
        elif _nearly(finding):
            notes.append(
                f"the budget `{finding['details'].get('metric')}` was nearly used up, not broken: it is no demand"
            )
    return notes


def demanded(run: dict[str, Any]) -> dict[str, str]:
    """Rules whose findings gave a demand -> the rule that judges it: judged by it, the recorded run must break each."""
    found = [f for f in standing(run) if f["rule"] in _DERIVE and f["scope"] == "trajectory" and not _nearly(f)]
    return {f["rule"]: _JUDGED_BY.get(f["rule"], f["rule"]) for f in found if _gives(f)}


_JUDGED_BY = {"regression": "budget"}


def _gives(finding: dict[str, Any]) -> bool:
    return finding["rule"] != "regression" or bool(_excesses(finding))


def _nearly(finding: dict[str, Any]) -> bool:
    """A budget's warning: most of it was used, it was not broken."""
    return bool(finding["rule"] == "budget" and finding["severity"] != "critical")


def _loop(contract: Contract, finding: dict[str, Any]) -> None:
    contract.loops = contract.loops or Loops()
    contract.loops.max_repeats = _repeats(finding, "calls", contract.loops.max_repeats)


def _cycle(contract: Contract, finding: dict[str, Any]) -> None:
    contract.loops = contract.loops or Loops()
    contract.loops.max_rounds = _repeats(finding, "rounds", contract.loops.max_rounds)


def _approval(contract: Contract, finding: dict[str, Any]) -> None:
    tool = finding["details"].get("tool")
    if isinstance(tool, str) and tool not in contract.approvals:
        contract.approvals.append(tool)


def _budget(contract: Contract, finding: dict[str, Any]) -> None:
    metric, limit = finding["details"].get("metric"), finding["details"].get("limit")
    if finding["scope"] != "trajectory" or _nearly(finding) or metric not in Budget.model_fields:
        return
    budget = contract.budget.model_dump(exclude_none=True) if contract.budget else {}
    contract.budget = Budget.model_validate({**budget, metric: float(limit) if isinstance(limit, str) else limit})


def _regression(contract: Contract, finding: dict[str, Any]) -> None:
    """What runs normally need, and half as much again, is the budget; never more than this run used."""
    for metric, said in _excesses(finding):
        limit = min(said["value"], NORMAL * said["median"]) or said["value"]
        whole = metric in ("turns", "tokens")
        budget = contract.budget.model_dump(exclude_none=True) if contract.budget else {}
        budget.setdefault(metric, min(math.ceil(limit), int(said["value"])) if whole else limit)
        contract.budget = Budget.model_validate(budget)


def _excesses(finding: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """(metric, its numbers) of a `regression` about one run, where a budget can hold the metric."""
    metrics = finding["details"].get("metrics")
    if finding["scope"] != "trajectory" or not isinstance(metrics, dict):
        return []
    return [
        (metric, said)
        for metric, said in metrics.items()
        if metric in Budget.model_fields
        and isinstance(said, dict)
        and _number(said.get("value")) > 0 <= _number(said.get("median"))
    ]


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else -1.0


def _claims(contract: Contract, finding: dict[str, Any]) -> None:
    contract.claims = "backed"


def _subagents(contract: Contract, finding: dict[str, Any]) -> None:
    contract.subagents = "taken_up"


def _tool_error(contract: Contract, finding: dict[str, Any]) -> None:
    contract.tool_errors = "recovered"


def _unfinished(contract: Contract, finding: dict[str, Any]) -> None:
    contract.ends = "completed"


def _forbidden(contract: Contract, finding: dict[str, Any]) -> None:
    _name(contract.must_not, finding["details"].get("forbidden"))


def _missing(contract: Contract, finding: dict[str, Any]) -> None:
    _name(contract.must, finding["details"].get("tool"))


def _arguments(contract: Contract, finding: dict[str, Any]) -> None:
    details = finding["details"]
    tool, argument, check = details.get("tool"), details.get("argument"), details.get("check")
    if isinstance(tool, str) and isinstance(argument, str) and isinstance(check, dict):
        contract.arguments.setdefault(tool, {})[argument] = ArgumentCheck.model_validate(check)


def _order(contract: Contract, finding: dict[str, Any]) -> None:
    order = finding["details"].get("order")
    if isinstance(order, dict):
        contract.order = Order.model_validate(order)


def _name(names: list[str], name: object) -> None:
    if isinstance(name, str) and name not in names:
        names.append(name)


def _repeats(finding: dict[str, Any], counted: str, default: int) -> int:
    """The limit that was live; where the finding does not name it, the default or what the run is known to exceed."""
    details = finding["details"]
    limit, number = details.get("max_repeats"), details.get(counted)
    if isinstance(limit, int):
        return limit if limit >= 1 else default
    return max(1, min(default, number - 1)) if isinstance(number, int) else default


_DERIVE: dict[str, Callable[[Contract, dict[str, Any]], None]] = {
    "loop": _loop,
    "cycle": _cycle,
    "approval": _approval,
    "budget": _budget,
    "tool-error": _tool_error,
    "unfinished": _unfinished,
    "forbidden-tool": _forbidden,
    "missing-tool": _missing,
    "arguments": _arguments,
    "order": _order,
    "regression": _regression,
    "false-claim": _claims,
    "lost-subagent": _subagents,
}


def in_words(contract: Contract) -> list[str]:
    """The demands as short sentences, for the terminal."""
    words = []
    if contract.loops is not None:
        repeats, rounds = contract.loops.max_repeats, contract.loops.max_rounds
        words.append(f"no call more than {repeats} times, no round of calls more than {rounds} times, without progress")
    words += [f"{tool} does not run without an approval" for tool in contract.approvals]
    words += [f"{tool} is not called" for tool in contract.must_not]
    words += [f"{tool} is called" for tool in contract.must]
    if contract.order is not None:
        words.append("the calls come in the demanded order")
    words += [f"{tool} is called with the demanded arguments" for tool in contract.arguments]
    if contract.budget is not None:
        words += [
            f"{metric} stay below {value:g}" for metric, value in contract.budget.model_dump(exclude_none=True).items()
        ]
    if contract.tool_errors is not None:
        words.append("no failed tool call is left as it is")
    if contract.claims is not None:
        words.append("the answer claims nothing that no call did")
    if contract.subagents is not None:
        words.append("every task that is handed over is taken up")
    if contract.ends is not None:
        words.append("the run comes to an end without an error")
    return words


def worst(findings: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The finding that the case is named after: critical before warning, then the first seen."""
    rank = {"critical": 0, "warning": 1, "info": 2}
    return min(
        findings, key=lambda f: (rank.get(f["severity"], 9), f["first_seen"] or "", f["finding_id"]), default=None
    )
