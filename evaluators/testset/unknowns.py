"""What the recording of a run does not say, in words for the person who completes the case."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def unknowns_of(run: dict[str, Any]) -> list[str]:
    """Sentences about what is missing in a trajectory document; nothing is guessed."""
    return [*_of_header(run), *_of_steps(run["steps"]), *_of_totals(run["totals"]), *_of_makeup(run)]


def _of_header(run: dict[str, Any]) -> Iterator[str]:
    if run["status"] in ("open", "waiting"):
        yield f"the run was still {run['status']} when it was promoted: later steps are not in this case"
    if run["status"] == "unfinished":
        yield "why the run stopped: its root span never ended, and a call that was running then left no span"
    if run["input"] is None:
        yield "the input: it was not recorded, so the case cannot be run before a person fills it in"
    if run["output"] is None and run["status"] == "completed":
        yield "the answer: none was recorded"
    if run.get("service_version") is None:
        yield "the version of the service"
    if len(run["trace_ids"]) > 1:
        yield f"whether all parts of the run are here: it was put together from {len(run['trace_ids'])} traces"


def _of_steps(steps: list[dict[str, Any]]) -> Iterator[str]:
    calls = [step for step in steps if step["tool"] is not None and step["counted"]]
    for number, sentence in (
        (_number(calls, lambda s: s["tool"]["arguments"] is None), "the arguments of {} tool call{}"),
        (
            _number(calls, lambda s: s["tool"]["result"] is None and s["status"] == "ok"),
            "the results of {} tool call{}",
        ),
        (_number(steps, lambda s: s["truncated"]), "the whole content of {} step{}: the sender cut it"),
        (
            _number(steps, lambda s: (s["approval"] or {}).get("verdict") == "unknown"),
            "whether {} call{} had an approval: the traces cannot show it",
        ),
    ):
        if number:
            yield sentence.format(number, "" if number == 1 else "s")
    models = [step for step in steps if step["kind"] == "llm" and step["counted"]]
    if models and not any(
        (step["model"] or {}).get("response") or (step["model"] or {}).get("request") for step in models
    ):
        yield "the model"


def _number(steps: list[dict[str, Any]], holds: Any) -> int:
    return sum(1 for step in steps if holds(step))


def _of_totals(totals: dict[str, Any]) -> Iterator[str]:
    if totals["unpriced_calls"]:
        yield f"the cost of {totals['unpriced_calls']} of {totals['llm_calls']} model calls: no price is known"
    if totals["llm_calls"] and totals["input_tokens"] is None and totals["output_tokens"] is None:
        yield "the tokens: no model call reported its usage"
    elif unmetered := totals.get("unmetered_calls"):
        yield f"the tokens of {unmetered} of {totals['llm_calls']} model calls: they did not report their usage"


def _of_makeup(run: dict[str, Any]) -> Iterator[str]:
    made = run.get("makeup") or {}
    yield "the right answer and end state: nobody has said them"
    missing = [words for key, words in _MAKEUP.items() if made.get(key) is None]
    if missing:
        yield f"{' and '.join(missing)} in that version"


_MAKEUP = {"prompt_hash": "the system prompt", "tools": "the tools that the agent was offered"}
