"""Golden evaluation sets as agentevals and the Agent Development Kit read them: `eval_cases` with a conversation each.

The keys are those of the Agent Development Kit's `EvalSet` model, in snake case.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from trailhound.errors import Invalid
from trailhound.evaluators.testset.answer import as_text
from trailhound.evaluators.testset.case import Case
from trailhound.evaluators.testset.exchange.base import CARRIED, Format, carried, foreign, uncarried
from trailhound.evaluators.testset.verdict import executed


class AgentEvals(Format):
    """The tools that the contract asks for are the expected trajectory; ours travels in the session state."""

    name = "agentevals"
    suffix = ".json"

    def write(self, cases: Sequence[Case]) -> str:
        document = {"eval_set_id": "trailhound", "name": "trailhound", "eval_cases": [_eval_case(c) for c in cases]}
        return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode() + "\n"

    def read(self, text: str) -> list[Case]:
        try:
            document = orjson.loads(text)
            items = document["eval_cases"]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            raise Invalid("`eval_cases` is missing: is this a JSON evaluation set?", reason="exchange") from None
        return [_case(item, f"eval_cases.{number}") for number, item in enumerate(items)]


def _eval_case(case: Case) -> dict[str, Any]:
    answer = case.contract.answer
    turn = {
        "invocation_id": case.id,
        "user_content": {"role": "user", "parts": [{"text": as_text(case.input)}]},
        "final_response": None,
        "intermediate_data": {"tool_uses": _tool_uses(case)},
    }
    if answer is not None and answer.equals is not None:
        turn["final_response"] = {"role": "model", "parts": [{"text": as_text(answer.equals)}]}
    state = {CARRIED: carried(case)}
    return {
        "eval_id": case.id,
        "conversation": [turn],
        "session_input": {"app_name": case.source.service, "user_id": "trailhound", "state": state},
    }


def _tool_uses(case: Case) -> list[dict[str, Any]]:
    """Each tool that must be called, with the arguments of its recorded call where they are an object."""
    recorded = {s.tool.name: s.tool.arguments for s in executed(case.trajectory().steps) if s.tool is not None}
    return [
        {"name": tool, "args": a if isinstance(a := recorded.get(tool), dict) else {}} for tool in case.contract.must
    ]


def _case(item: Any, where: str) -> Case:
    try:
        turn = item["conversation"][-1]
        given = _text(turn["user_content"])
    except (LookupError, TypeError):
        raise Invalid(f"{where}: has no conversation with a user's content", reason="exchange") from None
    ours = uncarried((item.get("session_input") or {}).get("state"), where)
    if ours is not None:
        return ours
    answer = turn.get("final_response")
    case = foreign(str(item.get("eval_id") or ""), given, _text(answer) if answer else None, "agentevals")
    uses = (turn.get("intermediate_data") or {}).get("tool_uses") or []
    case.contract.must = [str(use["name"]) for use in uses if isinstance(use, dict) and "name" in use]
    return case


def _text(content: dict[str, Any]) -> str:
    return "".join(str(part.get("text") or "") for part in content["parts"])
