"""Recordings rewritten as other programs would have sent the same: what happened in them must read the same."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from trailhound.config import Config
from trailhound.testing_bodies import Request, outcome, recorded
from trailhound.testing_rewrites import (
    Text,
    called_from_afar,
    replacing,
    served,
    timed,
    with_attributes,
    with_clients,
    within_one,
    without_scopes,
    worded,
)
from trailhound.testing_values import as_bytes, as_double, as_structure, as_text, typed

CAPTURES = Path(__file__).parents[1] / "captures"
FOLDERS = sorted(path.parent for path in CAPTURES.glob("*/*/expect.json"))


def name(folder: Path) -> str:
    return f"{folder.parent.name}/{folder.name}"


def some(each: int, of: int) -> pytest.MarkDecorator:
    """So many of the `of` ways to rewrite for each recording, in turn: a sender's recordings together are rewritten in all."""
    turns = [(folder, (number + n) % of) for number, folder in enumerate(FOLDERS) for n in range(each)]
    return pytest.mark.parametrize(("folder", "way"), turns, ids=[f"{name(folder)}-{way}" for folder, way in turns])


every_recording = pytest.mark.parametrize("folder", FOLDERS, ids=name)

TOOLS = ("lookup_order", "check_stock", "search_kb", "get_shipping_quote", "issue_refund", "delete_records")
NAMES = {
    "dotted": ("shop.lookup", "shop.stock", "kb.search", "shipping.quote", "shop.refund", "db.purge"),
    "hyphens and digits": ("lookup-1", "2-stock", "kb-3", "quote-4", "refund-2fa", "7zip-all"),
    "other scripts": ("查询订单", "проверка", "busca_ñ", "见积", "退款", "löschen"),
    "camel case": ("lookupOrder", "CheckStock", "searchKb", "getQuote", "IssueRefund", "deleteRecords"),
}
IDS = re.compile(r"(?<![A-Za-z0-9])(?:call_|toolu_|tooluse_)(?=[A-Za-z0-9]*\d)[A-Za-z0-9]+")
ORDERS = {"BK-1042": "Größe 4/ñ", "BK-2001": "48213", "BK-3003": "0b2f8a52-0d1c-4cf5-9a3e-5a6a2a5b9d11"}
PROCESSORS = {"deployment.environment": "prod", "tenant": "acme", "k8s.pod.name": "agent-7f", "thread.name": "main"}


def config(refund: str = "issue_refund", delete: str = "delete_records") -> Config:
    return Config.model_validate(
        {
            "tools": [{"match": [refund, delete], "risk": "high", "approval": "required"}],
            "rules": {"budget": {"run": {"turns": 10, "tokens": 200000}}},
        }
    )


@functools.cache
def original(folder: Path) -> list[Any]:
    return read(recorded(folder))


def read(requests: Iterable[Request], using: Config | None = None, back: Text = str) -> list[Any]:
    """What must not change: every run with its calls, what they add up to, and what the rules say of it."""
    told = outcome(requests, using or config())
    return sorted((_run(run, back) for run in told["trajectories"]), key=str)


def _run(run: dict[str, Any], back: Text) -> list[Any]:
    calls = sorted(back(json.dumps(_call(s), ensure_ascii=False)) for s in run["steps"] if s["kind"] in ("llm", "tool"))
    totals = {
        name: value for name, value in run["totals"].items() if name not in ("steps", "cost_usd", "unpriced_calls")
    }
    findings = sorted(
        (f["rule"], f["severity"], f["details"].get("verdict", "")) for f in run["findings"] if f["rule"] in RULES
    )
    return [run["status"], run["agent"], run["session_id"], calls, totals, findings]


RULES = ("loop", "cycle", "approval", "budget", "tool-error", "unfinished")


def _call(step: dict[str, Any]) -> list[Any]:
    tool = step["tool"] or {}
    verdict = (step["approval"] or {}).get("verdict")
    return [
        step["kind"],
        step["status"],
        tool.get("name"),
        tool.get("arguments"),
        step["counted"],
        step["usage"],
        verdict,
    ]


@some(1, of=len(NAMES))
def test_tools_may_have_any_names(folder: Path, way: int) -> None:
    names = list(NAMES.values())[way]
    if "-" in names[0] and folder.parent.name.startswith("semantic_kernel"):
        return  # there a hyphen parts a plugin's name from its function's
    there = replacing(dict(zip(TOOLS, names, strict=True)))
    back = replacing(dict(zip(names, TOOLS, strict=True)))
    assert read(worded(recorded(folder), there), config(names[4], names[5]), back) == original(folder)


FORMS = ("functions.x:{}", "{}", "3f2504e0-4f89-41d3-9a0c-0305e82c{:04}", "调用/{}")


@some(1, of=len(FORMS))
def test_calls_may_have_any_ids(folder: Path, way: int) -> None:
    ids: dict[str, str] = {}

    def other(found: re.Match[str]) -> str:
        return ids.setdefault(found[0], FORMS[way].format(7000 + len(ids)))

    assert read(worded(recorded(folder), lambda text: IDS.sub(other, text))) == original(folder)


@every_recording
def test_values_may_be_anything(folder: Path) -> None:
    back = replacing({value: key for key, value in ORDERS.items()})
    assert read(worded(recorded(folder), replacing(ORDERS)), back=back) == original(folder)


RESULTS = ("", "[]", "null", "Error: timed out", "nothing found. " * 300)


@pytest.mark.parametrize("result", RESULTS)
@pytest.mark.parametrize("folder", [folder for folder in FOLDERS if folder.name == "loop"], ids=name)
def test_a_result_may_be_empty_or_long(folder: Path, result: str) -> None:
    assert read(worded(recorded(folder), replacing({"no results": result}))) == original(folder)


ELSEWHEN: dict[str, Callable[[int], int]] = {
    "whole microseconds": lambda time_ns: time_ns // 1000 * 1000,
    "whole milliseconds": lambda time_ns: time_ns // 10**6 * 10**6,
    "years ago": lambda time_ns: time_ns - 5 * 365 * 86400 * 10**9,
}


@some(1, of=len(ELSEWHEN))
def test_clocks_may_be_coarse_and_the_year_any(folder: Path, way: int) -> None:
    assert read(timed(recorded(folder), list(ELSEWHEN.values())[way])) == original(folder)


TYPES = (as_bytes, as_text, as_structure, as_double)


@some(1, of=len(TYPES))
def test_values_may_be_of_other_types(folder: Path, way: int) -> None:
    assert read(typed(recorded(folder), TYPES[way])) == original(folder)


RETYPED = (
    ("autogen_mlflow/ok", as_structure),
    ("llama_index_openinference/stream", as_structure),
    ("llama_index_traceloop/ok", as_structure),
    ("mastra_openinference/approval_granted", as_structure),
    ("openai_agents_laminar/approval_denied", as_text),
)
"""What was found by text inside of JSON, or by membership in a list."""


@pytest.mark.parametrize(("recording", "change"), RETYPED, ids=[recording for recording, _ in RETYPED])
def test_what_stands_inside_a_value_may_be_of_another_type(recording: str, change: Any) -> None:
    folder = CAPTURES / recording
    assert read(typed(recorded(folder), change)) == original(folder)


AROUND: tuple[Callable[[list[Request]], list[Request]], ...] = (
    lambda requests: with_attributes(requests, PROCESSORS),
    with_clients,
    lambda requests: called_from_afar(requests, told=True),
)


APART = {
    "autogen_native/multi_agent": "traces that links join, each below a parent of its own",
    "langgraph_and_openai_openinference/crash": "a client's spans in a trace of their own, below a parent of its own",
    "langgraph_and_openai_openinference/stream": "the same",
    "openai_agents_laminar/approval_denied": "the root of a trace of Laminar names the agent; below another span, one further in does",
}
"""What a recording's traces are joined by is looked for at their tops only, and these tops are none any more."""


def every_recording_but_these() -> pytest.MarkDecorator:
    """The day that one of `APART` reads as it did, its test fails, so that it is taken off that list."""
    told = [
        pytest.param(folder, id=name(folder), marks=pytest.mark.xfail(strict=True, reason=APART[name(folder)]))
        if name(folder) in APART
        else pytest.param(folder, id=name(folder))
        for folder in FOLDERS
    ]
    return pytest.mark.parametrize("folder", told)


@some(1, of=len(AROUND))
def test_what_else_is_instrumented_changes_no_run(folder: Path, way: int) -> None:
    if way == 2 and name(folder) in APART:
        return
    assert read(AROUND[way](recorded(folder))) == original(folder)


@every_recording_but_these()
def test_a_web_server_s_span_above_changes_no_run(folder: Path) -> None:
    assert read(served(recorded(folder))) == original(folder)


SERVED = [folder for folder in FOLDERS if folder.parent.name.startswith("claude_agent_sdk_cli")]


@pytest.mark.parametrize("folder", SERVED, ids=name)
def test_an_mcp_server_in_the_agent_s_process_is_no_second_caller(folder: Path) -> None:
    here = [call for run in read(within_one(recorded(folder))) for call in run[3]]
    assert sorted(here) == sorted(call for run in original(folder) for call in run[3])


DOUBLED = [folder for folder in FOLDERS if folder.parent.name.startswith(("anthropic_", "pydantic_ai_v5_anthropic"))]


@pytest.mark.parametrize("folder", DOUBLED, ids=name)
def test_two_reports_of_a_call_are_one_also_where_nothing_says_whose_they_are(folder: Path) -> None:
    assert read(without_scopes(recorded(folder))) == original(folder)


TAKEN_UP = [f for f in FOLDERS if re.match(r"(agent_framework|pydantic_ai_v5|strands)\w*/approval_", name(f))]


@pytest.mark.parametrize("folder", TAKEN_UP, ids=name)
def test_a_run_that_was_taken_up_below_parents_never_sent_waits_no_more(folder: Path) -> None:
    requests = called_from_afar(recorded(folder), told=False)
    assert {run["status"] for run in outcome(requests, config())["trajectories"]} == {"completed"}
