"""A small returns desk: a scripted model that decides, real tools that act, and spans as the GenAI conventions have them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry import trace

VERSION = "1.0.0"
ORDERS = {
    "SO-48213": {"status": "delivered", "paid": 49.0},
    "SO-7": {"status": "lost", "paid": 12.5},
    "SO-9": {"status": "lost", "paid": 80.0},
}
MAX_TURNS = 8

Tools = dict[str, Callable[..., Any]]


def lookup_order(order_id: str) -> dict[str, Any]:
    """What is known of an order."""
    return {"order_id": order_id, **ORDERS.get(order_id, {"status": "unknown"})}


def create_return_label(order_id: str) -> dict[str, Any]:
    """A label for the parcel."""
    return {"label": f"RL-{order_id}"}


TOOLS: Tools = {"lookup_order": lookup_order, "create_return_label": create_return_label}


def think_1_0(task: str, seen: list[tuple[str, Any]]) -> tuple[str, dict[str, Any]] | str:
    """The first version's model. Its fault: it asks for a lost order again and again, hoping that it turns up."""
    order = _order_in(task)
    if not seen:
        return "lookup_order", {"order_id": order}
    name, result = seen[-1]
    if name == "lookup_order" and result["status"] == "lost":
        return "lookup_order", {"order_id": order}
    if name == "lookup_order":
        return "create_return_label", {"order_id": order}
    return f"Your return label is {result['label']}."


def think_1_1(task: str, seen: list[tuple[str, Any]]) -> tuple[str, dict[str, Any]] | str:
    """The mended one."""
    if seen and seen[-1][1].get("status") == "lost":
        return "The carrier has lost this parcel; a colleague will write to you today."
    return think_1_0(task, seen)


def _order_in(task: str) -> str:
    found = re.search(r"SO-\d+", task)
    return found[0] if found else ""


def answer(task: str, *, think: Any = think_1_0, tools: Tools = TOOLS, version: str = VERSION) -> str:
    """Answer one customer."""
    with _span("invoke_agent returns_desk", "invoke_agent", {"gen_ai.agent.name": "returns_desk"}) as run:
        run.set_attribute("gen_ai.input.messages", _messages("user", task))
        said = _converse(task, think, tools)
        run.set_attribute("gen_ai.output.messages", _messages("assistant", said))
        return said


def _converse(task: str, think: Any, tools: Tools) -> str:
    seen: list[tuple[str, Any]] = []
    for turn in range(MAX_TURNS):
        with _span("chat scripted-1", "chat", {"gen_ai.request.model": "scripted-1"}) as chat:
            decision = think(task, seen)
            chat.set_attribute("gen_ai.usage.input_tokens", 120 + 40 * turn)
            chat.set_attribute("gen_ai.usage.output_tokens", 20)
        if isinstance(decision, str):
            return decision
        name, arguments = decision
        seen.append((name, _act(turn, name, arguments, tools)))
    return "I could not find out; please try again later."


def _act(turn: int, name: str, arguments: dict[str, Any], tools: Tools) -> Any:
    given = {
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": f"call_{turn}",
        "gen_ai.tool.call.arguments": json.dumps(arguments),
    }
    with _span(f"execute_tool {name}", "execute_tool", given) as span:
        result = tools[name](**arguments)
        span.set_attribute("gen_ai.tool.call.result", json.dumps(result))
    return result


def _messages(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


@contextmanager
def _span(name: str, operation: str, attributes: dict[str, Any]) -> Iterator[trace.Span]:
    tracer = trace.get_tracer("examples.returns_desk", VERSION)
    with tracer.start_as_current_span(name, attributes={"gen_ai.operation.name": operation, **attributes}) as span:
        yield span
