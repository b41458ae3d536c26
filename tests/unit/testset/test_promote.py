"""A run becomes a case: every kind of failure, what is not known, and the proof that the case fails on its own run."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from trailhound.config import Config
from trailhound.document import trajectory_document
from trailhound.errors import Invalid
from trailhound.evaluators.judge import RuleSet, ScopeJudge
from trailhound.evaluators.testset.case import Case, parse_case, read_case
from trailhound.evaluators.testset.contract import Budget, Contract, Loops, glob_literal, judge
from trailhound.evaluators.testset.fitting import fit
from trailhound.evaluators.testset.folder import CaseFolder
from trailhound.evaluators.testset.notation import MAX_SIZE
from trailhound.evaluators.testset.promote import build_case, put_case
from trailhound.model import ApprovalVerdict, Failure, Model, Step, Trajectory, Usage
from trailhound.testing_runs import make_call, make_finding, make_run, make_step

TOOLS = [{"match": "issue_refund", "risk": "high"}]
CONFIG = Config.model_validate({"tools": TOOLS, "rules": {"budget": {"run": {"turns": 4, "tokens": 5000}}}})


def judged(steps: list[Step], **fields: Any) -> Trajectory:
    """The run as the daemon would show it: with the findings of the live rules."""
    made = make_run(steps, **fields)
    scope = ScopeJudge(RuleSet(CONFIG), "trajectory", made.run.trajectory_id, "default")
    for step in made.steps:
        if not step.container:
            scope.put(step)
    scope.settle(made.run)
    made.findings = list(scope.close(made.run))
    return made


def turn(number: int) -> Step:
    return make_step(number, "llm", model=Model("openai", "gpt-4o", "gpt-4o-2024"), usage=Usage(1000, 50))


def looping(number: int = 5) -> list[Step]:
    return [make_call(n, "lookup_order", {"order_id": "SO-1"}, {"status": "lost"}) for n in range(1, number + 1)]


def ping_pong() -> list[Step]:
    return [make_call(n, "ping" if n % 2 else "pong", {"n": 1}, "same") for n in range(1, 9)]


REFUND = make_call(1, "issue_refund", {"amount": 250}, {"ok": True}, approval=ApprovalVerdict("missing"))
BROKEN = make_call(1, "charge", {"a": 1}, None, status="error", error=Failure("TimeoutError", "no answer"))

RUNS: dict[str, tuple[Trajectory, dict[str, Any]]] = {
    "loop": (judged(looping()), {"loops": Loops(max_repeats=2)}),
    "cycle": (judged(ping_pong()), {"loops": Loops(max_repeats=2, max_rounds=2)}),
    "approval": (judged([REFUND]), {"approvals": ["issue_refund"]}),
    "budget": (judged([turn(n) for n in range(1, 7)]), {}),
    "tool-error": (judged([BROKEN]), {"tool_errors": "recovered"}),
    "unfinished": (judged([turn(1)], status="unfinished"), {"ends": "completed"}),
    "failed": (judged([turn(1)], status="failed"), {"ends": "completed"}),
    "still open loop": (judged(looping(), status="open"), {"loops": Loops(max_repeats=2)}),
    "waiting": (judged(looping(), status="waiting"), {"loops": Loops(max_repeats=2)}),
}


def case_of(run: Trajectory) -> Case:
    return build_case(trajectory_document(run))


@pytest.mark.parametrize("name", RUNS)
def test_the_case_fails_on_its_own_run(name: str) -> None:
    run, demands = RUNS[name]
    case = case_of(run)
    for demand, value in demands.items():
        assert getattr(case.contract, demand) == value
    assert case.proof is not None
    assert case.proof.fails
    assert not any(unknown.startswith("why `") for unknown in case.unknowns)
    rules = {breach.partition(":")[0] for breach in case.proof.breaches}
    assert rules == ({f.rule for f in run.findings} or {"unfinished"})


@pytest.mark.parametrize("name", RUNS)
def test_the_case_is_judged_from_its_file_alone(name: str, tmp_path: Any) -> None:
    case = case_of(RUNS[name][0])
    with CaseFolder(tmp_path) as folder:
        promoted = put_case(folder, case)
    again = read_case(tmp_path / promoted.name)
    assert again == case
    assert not judge(again.contract, again.trajectory(), again.tools).passed


@pytest.mark.parametrize("name", [name for name in RUNS if name not in ("unfinished", "failed")])
def test_a_good_run_passes_the_contract(name: str) -> None:
    good = make_run([turn(1), make_call(2, "lookup_order", {"order_id": "SO-1"}, {"status": "lost"})])
    judgement = judge(case_of(RUNS[name][0]).contract, good)
    assert judgement.passed, judgement.breaches


def test_budgets_keep_the_limit_that_was_broken() -> None:
    case = case_of(RUNS["budget"][0])
    assert case.contract.budget is not None
    assert case.contract.budget.model_dump(exclude_none=True) == {"turns": 4, "tokens": 5000}
    assert "    turns: 4\n    tokens: 5000\n" in case.to_yaml()


def test_calls_that_only_the_messages_show_are_judged_again() -> None:
    turns = [turn(n) for n in range(1, 7)]
    calls = [make_call(n + 1, "lookup", {"n": n}, {}, span_id=turns[n].span_id, synthetic=True) for n in range(6)]
    case = case_of(judged([*turns, *calls]))
    assert case.proof is not None
    assert {breach.partition(":")[0] for breach in case.proof.breaches} == {"budget"}
    assert not any(unknown.startswith("why `") for unknown in case.unknowns)


def test_a_budget_that_was_nearly_used_up_is_no_demand() -> None:
    run = judged([turn(n) for n in range(1, 5)], status="open")
    run.findings = [f for f in run.findings if f.details["metric"] == "tokens"]
    case = case_of(run)
    assert case.contract.budget is None
    assert any("nearly used up" in unknown for unknown in case.unknowns)


def test_a_finding_over_a_session_is_said_to_be_more_than_this_case_can_show() -> None:
    run = make_run(
        [turn(1)], [make_finding("budget", "critical", scope="session", details={"metric": "cost_usd", "limit": "10"})]
    )
    case = case_of(run)
    assert case.contract.budget is None
    assert any("whole session" in unknown for unknown in case.unknowns)


def test_a_good_run_is_not_refused_but_proves_nothing() -> None:
    case = case_of(make_run([turn(1)], output="Done."))
    assert not case.contract.demands()
    assert case.proof is not None
    assert not case.proof.fails
    assert case.unknowns[0].startswith("what went wrong")


def test_a_finding_that_the_recording_does_not_bear_out_is_said() -> None:
    case = case_of(make_run([turn(1)], [make_finding("loop", "warning")]))
    assert case.proof is not None
    assert not case.proof.fails
    assert case.unknowns[0].startswith("why `loop` was found")


def test_resolved_findings_and_infos_are_no_demands() -> None:
    findings = [make_finding("loop", state="resolved"), make_finding("tool-error", "info")]
    case = case_of(make_run([turn(1)], findings))
    assert not case.contract.demands()
    assert case.failure.findings == []


def test_what_was_not_recorded_is_named() -> None:
    call = make_call(2, "lookup", None, None, truncated=True, approval=ApprovalVerdict("unknown"))
    case = case_of(make_run([make_step(1, "llm"), call], input=None, service_version=None, status="open"))
    said = "\n".join(case.unknowns)
    for words in (
        "still open",
        "the input",
        "arguments of 1 tool call",
        "results of 1 tool call",
        "1 step:",
        "approval",
        "the model",
        "version of the service",
    ):
        assert words in said, words
    assert case.input is None


def test_the_earlier_turns_of_the_session_are_its_context() -> None:
    earlier = [{"trajectory_id": "t0", "input": [{"role": "user"}], "output": None}]
    case = build_case(trajectory_document(make_run([turn(1)])), earlier=earlier)
    assert [turn.model_dump() for turn in case.context] == earlier


def test_variants_of_one_input_are_one_family() -> None:
    one, other = case_of(make_run([turn(1)])), case_of(make_run(looping(), trajectory_id="other"))
    assert one.family == other.family
    assert one.family != case_of(make_run([turn(1)], input="something else")).family
    assert (
        case_of(make_run([], input=None, trajectory_id="a")).family
        != case_of(make_run([], input=None, trajectory_id="b")).family
    )


def test_input_keeps_its_types() -> None:
    typed = {"n": 1, "x": 1.0, "s": "1", "d": "2026-11-30", "deep": [[{"yes": "no", "null": None}], True]}
    case = case_of(make_run([turn(1)], input=typed))
    again = parse_case(case.to_yaml().encode(), "case")
    assert repr(again.input) == repr(typed)


@pytest.mark.parametrize(("calls", "size"), [(3, 600_000), (400, 8_000), (6_000, 10)])
def test_a_huge_run_still_fits_and_says_what_was_cut(calls: int, size: int) -> None:
    steps = [make_call(n, "read", {"page": n}, "x" * size) for n in range(1, calls)] + looping()
    for number, step in enumerate(steps, 1):
        step.span_id, step.start_ns = f"{number + 1:016x}", step.start_ns + number
    run = judged(steps)
    with_files: list[bytes] = []

    class Folder(CaseFolder):
        def __init__(self) -> None:
            return

        def find(self, trajectory_id: str, trace_ids: list[str]) -> str | None:
            return None

        def write(self, name: str, text: str) -> bool:
            with_files.append(text.encode())
            return True

    case = case_of(run)
    put_case(Folder(), case)
    assert len(with_files[0]) <= MAX_SIZE
    again = parse_case(with_files[0], "case")
    assert any("a file of a case holds 1 MiB" in unknown for unknown in again.unknowns)
    assert not judge(again.contract, again.trajectory(), again.tools).passed


def test_parts_that_nothing_judges_yet_are_named() -> None:
    judgement = judge(Contract(end_state=["the refund is booked"]), make_run([turn(1)]))
    assert judgement.passed
    assert judgement.not_judged == ["end_state"]


def test_demands_about_tools_are_judged() -> None:
    demands = Contract.model_validate(
        {
            "must": ["lookup_order", "ship"],
            "must_not": ["issue_*"],
            "order": {"mode": "IN_ORDER", "tools": ["lookup_order", "issue_refund"]},
            "arguments": {"issue_refund": {"amount": {"max": 50}}, "lookup_order": {"order_id": {"equals": "SO-1"}}},
        }
    )
    run = make_run([make_call(1, "issue_refund", {"amount": 80}), make_call(2, "lookup_order")])
    judgement = judge(demands, run)
    assert {breach.rule for breach in judgement.breaches} == {"arguments", "forbidden-tool", "missing-tool", "order"}
    assert judgement.unknown == [
        "whether lookup_order was called with the right arguments is unknown: they were not recorded"
    ]
    kept = judge(demands, make_run([make_call(1, "lookup_order", {"order_id": "SO-1"}), make_call(2, "ship")]))
    assert [breach.rule for breach in kept.breaches] == ["order"]


def test_a_broken_contract_becomes_the_contract_of_the_case() -> None:
    asked = {
        "agent": "support_agent",
        "must": ["ship"],
        "must_not": ["issue_*"],
        "order": {"mode": "EXACT", "tools": ["lookup_order", {"any_of": ["ship", "mail"], "optional": True}]},
        "arguments": {"lookup_order": {"order_id": {"matches": "^SO"}}},
    }
    run = make_run([make_call(1, "issue_refund", {"amount": 80}), make_call(2, "lookup_order", {"order_id": "X"})])
    rules = RuleSet(Config.model_validate({"contracts": [asked]}))
    scope = ScopeJudge(rules, "trajectory", run.run.trajectory_id, "default")
    for step in run.steps[1:]:
        scope.put(step)
    run.findings = list(scope.close(run.run))
    case = case_of(run)
    assert {name: getattr(case.contract, name) for name in ("must", "must_not")} == {
        "must": ["ship"],
        "must_not": ["issue_*"],
    }
    assert parse_case(case.to_yaml().encode(), "case").contract == case.contract
    assert case.proof is not None
    assert len(case.proof.breaches) == 4


@pytest.mark.parametrize("name", ["*", "[a-z]*", "issue_?", "a]b", "plain"])
def test_a_tool_named_like_a_pattern_matches_only_itself(name: str) -> None:
    from fnmatch import fnmatchcase

    assert fnmatchcase(name, glob_literal(name))
    assert name == "plain" or not fnmatchcase("issue_refund", glob_literal(name))


def test_declared_tools_travel_with_the_case() -> None:
    polled = judged(looping())
    case = build_case(
        trajectory_document(polled),
        tools=Config.model_validate({"tools": [{"match": "lookup_order", "poll": True}]}).tools,
    )
    assert parse_case(case.to_yaml().encode(), "case").tools == case.tools
    assert case.proof is not None
    assert not case.proof.fails  # polling is no loop: the case says so instead of claiming a proof
    assert case.unknowns[0].startswith("why `loop` was found")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"id: x\n", "`title`: Field required"),
        (b"format: trailhound-case/2\n", "`format`"),
        (b"foo: 1\n", "`"),
    ],
)
def test_a_broken_case_is_one_line(text: bytes, said: str) -> None:
    with pytest.raises(Invalid, match=r"my\.yaml") as error:
        parse_case(text, "my.yaml")
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_no_trajectory_is_refused() -> None:
    with pytest.raises(Invalid):
        parse_case(
            case_of(make_run([turn(1)])).to_yaml().replace("status: completed", "statuses: x").encode(), "c"
        ).trajectory()


def test_a_run_dearer_than_its_baseline_gets_a_budget_from_it() -> None:
    metrics = {
        "turns": {"value": 8, "median": 3, "ratio": 2.7},
        "cost_usd": {"value": 0.3, "median": 0.0, "ratio": None},
        "tool_errors": {"value": 4, "median": 0, "ratio": None},
    }
    finding = make_finding("regression", details={"metric": "turns", "metrics": metrics})
    run = make_run([make_step(n, "llm") for n in range(1, 9)], [finding])
    run.run.totals.cost_usd = Decimal("0.3")
    case = build_case(trajectory_document(run))
    assert case.contract.budget == Budget(turns=5, cost_usd=0.3)
    assert case.proof is not None
    assert case.proof.fails
    assert not any("regression" in unknown for unknown in case.unknowns)


def test_a_regression_that_no_budget_can_hold_is_said() -> None:
    metrics = {"tool_errors": {"value": 4, "median": 0, "ratio": None}}
    run = make_run([make_step(1, "llm")], [make_finding("regression", details={"metrics": metrics})])
    assert any("names nothing that a budget can hold" in u for u in build_case(trajectory_document(run)).unknowns)


def test_a_task_that_nobody_took_up_stays_so_in_the_case() -> None:
    step = make_step(1, "handoff", hands_to="refund_agent")
    run = make_run([step], [make_finding("lost-subagent", details={"taker": "refund_agent"})])
    case = parse_case(fit(build_case(trajectory_document(run))).encode(), "case")
    assert case.contract.subagents == "taken_up"
    assert case.proof is not None
    assert case.proof.fails
    taken = make_run([step, make_step(2, "llm", agent="refund_agent")], agents=["support_agent", "refund_agent"])
    assert judge(case.contract, taken).passed


@pytest.mark.parametrize(
    "said", [{"k" * 100_000: 1}, {str(n): n for n in range(50_000)}, list(range(400_000)), [["x" * 50] * 90] * 90]
)
def test_huge_objects_fit_and_the_run_is_still_written_once(said: Any, tmp_path: Any) -> None:
    calls = [make_call(n, "lookup_order", {"said": said}, {"said": said}) for n in range(1, 6)]
    found = make_finding("loop", "warning", *calls, details={"tool": "lookup_order", "calls": 5, "max_repeats": 2})
    run = make_run(calls, [found], input=said)
    with CaseFolder(tmp_path) as folder:
        promoted = put_case(folder, case_of(run))
        assert not put_case(folder, case_of(run)).written
    again = read_case(tmp_path / promoted.name)
    assert not judge(again.contract, again.trajectory()).passed


def test_a_loop_over_traces_that_are_one_run_stays_a_loop() -> None:
    calls = [
        make_call(n, "search", {"q": "brake"}, "no results", trace_id=f"{n:032x}", parent_span_id="", scope_id="")
        for n in range(1, 6)
    ]
    made = make_run(calls, [make_finding("loop", "warning", *calls, details={"tool": "search", "calls": 5})])
    made.steps = calls
    made.run.trace_ids = [call.trace_id for call in calls]
    case = case_of(made)
    assert [step.scope_id for step in case.trajectory().steps] == [""] * 5
    assert case.proof is not None
    assert case.proof.fails


def test_a_claim_that_no_call_backs_is_demanded_and_judged() -> None:
    say: dict[str, Any] = {"output": "I have refunded your order."}
    claim = make_finding("false-claim", details={"claim": "refunded"})
    looked = make_call(1, "lookup_order", {"order_id": "SO-1"}, {"status": "lost"})
    case = case_of(make_run([turn(0), looked], [claim], **say))
    assert case.contract.claims == "backed"
    assert case.proof is not None
    assert case.proof.fails
    refunded = make_call(2, "issue_refund", {"order_id": "SO-1"}, {"ok": True})
    assert judge(case.contract, make_run([turn(0), looked, refunded], None, **say)).passed
    assert judge(case.contract, make_run([turn(0), looked], output="I could not refund your order.")).passed
