"""For agents: tell that somebody decided about a tool call. Needs nothing but opentelemetry-api."""

from __future__ import annotations

import json
import logging
from typing import Any
from uuid import uuid4

from opentelemetry import trace

EVENT = "gen_ai.tool.approval"

logger = logging.getLogger("trailhound")


def record_approval(decision: str, *, call_id: str | None = None, tool: str | None = None, arguments: Any = None, actor: str = "human", actor_id: str | None = None, scope: str = "once", reason: str | None = None, session_id: str | None = None, user_id: str | None = None) -> None:  # fmt: skip
    """Tell of a decision (`approved`, `denied`, `edited`, `expired`, `cancelled`, `requested`) about one tool call.

    Name the call by `call_id`, or by `tool` and `arguments` (JSON data); inside the tool's own span neither is needed.
    `actor`: `human`, `policy`, `hook`, `model`. `scope`: `once`, `session`, `always`. It becomes an event of the current
    span, or a span of its own where none is recording: then `session_id` is needed, and `user_id` where users may have
    sessions of the same name.

    Arguments that are no JSON never raise: a warning is logged, and the decision covers no call.
    """
    told = {
        "approval.decision": decision, "approval.actor.type": actor, "approval.actor.id": actor_id,
        "approval.scope": scope, "approval.reason": reason, "gen_ai.tool.call.id": call_id, "gen_ai.tool.name": tool,
        "gen_ai.tool.call.arguments": None if arguments is None else _json(arguments),
        "gen_ai.conversation.id": session_id, "user.id": user_id,
    }  # fmt: skip
    attributes = {key: _sendable(value) for key, value in told.items() if value is not None}
    span = trace.get_current_span()
    if span.is_recording():
        span.add_event(EVENT, attributes)
    else:
        trace.get_tracer("trailhound").start_span(EVENT, attributes=attributes).end()


def _sendable(text: Any) -> Any:
    """With lone surrogates written out: exporters leave an attribute with one away, and the decision would cover more."""
    return text.encode("utf-8", "backslashreplace").decode() if isinstance(text, str) else text


def _json(arguments: Any) -> str:
    """Their JSON text; of what has none a text that no call has, as without arguments the decision would cover more."""
    try:
        return json.dumps(arguments, default=str, allow_nan=False)
    except Exception as error:  # noqa: BLE001 - also what a `__str__` of the caller raises
        logger.warning("record_approval: the arguments are no JSON (%s); it covers no call", type(error).__name__)
        return f"no JSON {uuid4().hex}"
