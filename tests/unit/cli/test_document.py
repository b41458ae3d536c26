"""The outward JSON: what the design's section 6 says, safe for any encoder, and back again."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trailhound.document import finding_document, json_safe, money, trajectory_document
from trailhound.errors import Invalid
from trailhound.model import ApprovalVerdict, Failure, Model, Totals, Usage
from trailhound.testing_runs import make_call, make_finding, make_run, make_step
from trailhound.undocument import finding_from, parse_rfc3339, trajectory_from

TRAJECTORY_KEYS = {
    "trajectory_id", "trace_ids", "tenant", "service", "service_version", "environment", "agent", "agents", "session_id",
    "user_id", "status", "started_at", "ended_at", "duration_s", "input", "output", "dialects", "steps", "totals", "findings",
}  # fmt: skip
STEP_KEYS = {
    "index", "kind", "name", "agent", "trace_id", "span_id", "parent_span_id", "started_at", "ended_at", "status", "error",
    "tool", "model", "usage", "cost_usd", "price_source", "counted", "approval", "truncated",
}  # fmt: skip
FINDING_KEYS = {
    "finding_id", "rule", "severity", "state", "scope", "trajectory_id", "session_id", "tenant", "service", "agent", "summary",
    "expected", "actual", "evidence", "first_seen", "last_seen", "details",
}  # fmt: skip


def rich_run() -> Any:
    model = make_step(
        1,
        "llm",
        model=Model("openai", "gpt-4o", "gpt-4o-2024"),
        usage=Usage(1200, 40, 800, None, 3),
        cost_usd=Decimal("0.0000021"),
    )
    call = make_call(
        2, "issue_refund", {"order_id": "SO-1", "amount": 249.9}, None,
        status="error", error=Failure("TimeoutError", "no answer"), approval=ApprovalVerdict("missing", None, None),
    )  # fmt: skip
    totals = Totals(3, 1, 1, 1, 1, 1200, 40, 800, 0, 3, Decimal("0.0000021"), 0)
    return make_run(
        [model, call], [make_finding("approval", "critical", call, details={"verdict": "missing"})], totals=totals
    )


def test_a_run_has_the_keys_of_the_contract() -> None:
    document = trajectory_document(rich_run())
    assert document.keys() >= TRAJECTORY_KEYS
    assert all(step.keys() >= STEP_KEYS for step in document["steps"])
    assert document["findings"][0].keys() == FINDING_KEYS
    assert document["started_at"] == "2026-11-30T12:00:01.123456789Z"
    assert document["steps"][1]["cost_usd"] == "0.0000021"
    assert document["totals"]["cost_usd"] == "0.0000021"
    assert document["steps"][2]["approval"] == {"verdict": "missing", "by": None, "evidence": None}
    assert [step["index"] for step in document["steps"]] == [0, 1, 2]


def test_lists_leave_the_steps_out() -> None:
    assert "steps" not in trajectory_document(rich_run(), steps=False)


@pytest.mark.parametrize(
    ("status", "ended"),
    [("open", False), ("waiting", False), ("completed", True), ("failed", True), ("unfinished", True)],
)
def test_a_run_that_goes_on_has_no_end(status: Any, ended: bool) -> None:
    document = trajectory_document(make_run([make_call(1, "a")], status=status))
    assert (document["ended_at"] is not None) is ended
    assert document["duration_s"] == 1.5


def test_a_negative_duration_is_zero() -> None:
    run = make_run([])
    run.run.ended_ns = run.run.started_ns - 5
    assert trajectory_document(run)["duration_s"] == 0


def test_text_of_json_is_parsed_and_other_text_is_not() -> None:
    run = make_run(
        [make_call(1, "a", '{"b": 1}', "[1, 2]"), make_call(2, "a", "plain", "12")], input='{"q": "x"}', output="42"
    )
    document = trajectory_document(run)
    assert document["input"] == {"q": "x"}
    assert document["output"] == "42"
    assert document["steps"][1]["tool"]["arguments"] == {"b": 1}
    assert document["steps"][1]["tool"]["result"] == [1, 2]
    assert document["steps"][2]["tool"]["arguments"] == "plain"
    assert document["steps"][2]["tool"]["result"] == "12"


def test_back_from_the_document() -> None:
    run = rich_run()
    assert trajectory_document(trajectory_from(trajectory_document(run))) == trajectory_document(run)
    finding = run.findings[0]
    assert finding_from(finding_document(finding)) == finding


def test_an_open_run_comes_back_as_it_was() -> None:
    run = make_run([make_call(1, "a", end_ns=0, status="open")], status="open")
    again = trajectory_from(trajectory_document(run))
    assert again.run.ended_ns == run.run.ended_ns
    assert again.steps[1].end_ns == 0


def test_steps_come_back_with_the_agent_that_encloses_them() -> None:
    inner = make_step(1, "agent", name="planner", span_id="00000000000000aa")
    call = make_call(2, "search", {"q": 1}, parent_span_id="00000000000000aa")
    lonely = make_call(3, "search", {"q": 1}, parent_span_id="00000000000000ff")
    again = trajectory_from(trajectory_document(make_run([inner, call, lonely])))
    assert [step.scope_id for step in again.steps[2:]] == ["00000000000000aa", "00000000000000ff"]


def test_calls_without_a_span_of_their_own_are_told_apart() -> None:
    model = make_step(1, "llm")
    calls = [make_call(n, "search", {"q": n}, span_id=model.span_id, synthetic=True) for n in (2, 3)]
    again = trajectory_from(trajectory_document(make_run([model, *calls, make_call(4, "search", {"q": 4})])))
    assert [step.synthetic for step in again.steps] == [False, False, True, True, False]


def test_a_circle_of_parents_ends() -> None:
    one = make_call(1, "a", span_id="00000000000000aa", parent_span_id="00000000000000bb")
    two = make_call(2, "a", span_id="00000000000000bb", parent_span_id="00000000000000aa")
    assert len(trajectory_from(trajectory_document(make_run([one, two]))).steps) == 3


@pytest.mark.parametrize("broken", [{}, {"trajectory_id": 1}, {"steps": [{}]}])
def test_another_shape_is_refused(broken: dict[str, Any]) -> None:
    document = {**trajectory_document(rich_run()), **broken} if broken else {}
    if broken.get("trajectory_id"):
        del document["totals"]
    with pytest.raises(Invalid, match="no trajectory document"):
        trajectory_from(document)


@pytest.mark.parametrize(
    ("value", "safe"),
    [
        (b"\x00\xff", "AP8="),
        (float("nan"), None),
        (float("-inf"), None),
        ("a\ud800b", "a?b"),
        ({"\udfff": [("x", 2**70)]}, {"?": [["x", "1180591620717411303424"]]}),
        (Decimal("1E-7"), "0.0000001"),
        (Decimal("NaN"), None),
        ({1: True, None: 2**64 - 1}, {"1": True, "None": 2**64 - 1}),
    ],
)
def test_anything_becomes_plain_json(value: Any, safe: Any) -> None:
    assert json_safe(value) == safe
    orjson.dumps(json_safe(value))


def test_deep_content_is_cut() -> None:
    deep: Any = "x"
    for _ in range(5000):
        deep = [deep]
    assert "nested too deeply" in json.dumps(json_safe(deep))


anything: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.binary(max_size=9)
    | st.decimals(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters()) | st.integers(), inner, max_size=3)
    ),
)


def test_unknown_is_null_and_comes_back() -> None:
    silent = make_run([make_call(1, "tool", None, "x")])
    silent.run.ended_ns, silent.run.status = 0, "open"
    document = trajectory_document(silent)
    assert document["duration_s"] is None
    assert document["totals"]["input_tokens"] is document["totals"]["cost_usd"] is None
    assert trajectory_from(document).run.totals == silent.run.totals


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(anything, anything)
def test_every_encoder_takes_every_document(arguments: Any, output: Any) -> None:
    document = trajectory_document(
        make_run([make_call(1, "tool\ud800", None, output)], output=arguments, agent="a\udc00")
    )
    json.dumps(document, allow_nan=False).encode()
    assert orjson.loads(orjson.dumps(document)) == document


@settings(deadline=None)
@given(st.integers(1, 2**64 - 1))
def test_times_survive(ns: int) -> None:
    from trailhound.clock import rfc3339

    assert parse_rfc3339(rfc3339(ns)) == ns


@pytest.mark.parametrize(
    "text", ["yesterday", "2026-11-30", "2026-11-30T12:00:00+01:00", "2026-11-30T12:00:00.0000000001Z", ""]
)
def test_other_times_are_refused(text: str) -> None:
    with pytest.raises(Invalid):
        parse_rfc3339(text)


@pytest.mark.parametrize(
    ("cost", "text"),
    [(None, None), (Decimal("0E-10"), "0.0000000000"), (Decimal("1E+3"), "1000"), (Decimal("Infinity"), None)],
)
def test_money_has_no_exponent(cost: Decimal | None, text: str | None) -> None:
    assert money(cost) == text
