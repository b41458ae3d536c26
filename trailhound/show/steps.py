"""One step in words, and how deep it lies in its run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.text import Text

from trailhound.show.text import call, message, plain, words

_VERDICTS = {"approved": "green", "policy": "green", "denied": "bold red", "missing": "bold red", "unknown": "yellow"}
ARGUMENTS = 90
RESULT = 120
"""Characters of arguments and results that a step shows."""


def step_words(step: dict[str, Any]) -> Text:
    """`tool lookup_order(order_id="SO-1") → {"status":"sent"}`; failures in red, wrappers dimmed."""
    found = Text(f"{step['kind']} ", style="dim" if not step["counted"] else "cyan")
    found.append(_name(step), style="dim" if not step["counted"] else "bold" if step["tool"] else "none")
    if not step["counted"] and step["kind"] != "agent":
        found.append(" (wrapper)", style="dim")
    if step["status"] in ("denied", "pending", "open"):
        found.append(f" [{'running' if step['status'] == 'open' else step['status']}]", style="bold yellow")
    if step["approval"] is not None:
        found.append(f" [{_approval(step['approval'])}]", style=_VERDICTS.get(step["approval"]["verdict"], ""))
    return _outcome(found, step)


def _outcome(found: Text, step: dict[str, Any]) -> Text:
    tool, error = step["tool"], step["error"]
    if step["status"] == "error":
        parts = [plain(part, RESULT) for part in ((error or {}).get("type"), (error or {}).get("message")) if part]
        if not parts and tool is not None and tool["result"] is not None:
            parts = [words(tool["result"], RESULT)]
        found.append(f" ✗ {': '.join(parts) or 'failed'}", style="red")
    elif tool is not None and tool["result"] is not None:
        found.append(f" → {message(tool['result'], RESULT)}", style="dim")
    if step["truncated"]:
        found.append(" (cut)", style="dim")
    return found


def _name(step: dict[str, Any]) -> str:
    tool, model = step["tool"], step["model"]
    if tool is not None:
        return plain(call(tool["name"], tool["arguments"]), ARGUMENTS)
    if step["kind"] == "llm" and model is not None:
        return plain(model["response"] or model["request"] or step["name"], ARGUMENTS)
    if step["kind"] == "agent" and step["agent"]:
        return plain(step["agent"], ARGUMENTS)
    return plain(step["name"], ARGUMENTS)


def _approval(approval: dict[str, Any]) -> str:
    words_of = {"missing": "no approval", "unknown": "approval unknown", "policy": "allowed by policy"}
    found: str = words_of.get(approval["verdict"], approval["verdict"])
    return f"{found} by {plain(approval['by'], 40)}" if approval["by"] else found


def depths(steps: Sequence[dict[str, Any]]) -> list[int]:
    """How many known ancestors each step has; a circle of parents ends the count."""
    parents: dict[tuple[str, str | None], tuple[str, str | None]] = {
        (step["trace_id"], step["span_id"]): (step["trace_id"], step["parent_span_id"]) for step in steps
    }
    known: dict[tuple[str, str | None], int] = {}
    for step in steps:
        _depth((step["trace_id"], step["span_id"]), parents, known)
    return [known[step["trace_id"], step["span_id"]] for step in steps]


def _depth(
    place: tuple[str, str | None],
    parents: dict[tuple[str, str | None], tuple[str, str | None]],
    known: dict[tuple[str, str | None], int],
) -> None:
    way: dict[tuple[str, str | None], None] = {}  # ordered, and quick to ask whether we go in circles
    while place not in known and place in parents and place not in way:
        way[place] = None
        place = parents[place]
    depth = known.get(place, -1)
    for place in reversed(way):
        depth += 1
        known[place] = depth
