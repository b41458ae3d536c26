"""For agents: tell that somebody decided about a tool call. Needs nothing but opentelemetry-api."""

from __future__ import annotations

import json
from typing import Any

from opentelemetry import trace

EVENT = "gen_ai.tool.approval"


def record_approval(decision: str, *, call_id: str | None = None, tool: str | None = None, arguments: Any = None, actor: str = "human", actor_id: str | None = None, scope: str = "once", reason: str | None = None, session_id: str | None = None, user_id: str | None = None) -> None:  # fmt: skip
    """Tell of a decision (`approved`, `denied`, `edited`, `expired`, `cancelled`, `requested`) about one tool call.

    Name the call by `call_id`, or by `tool` and `arguments` (JSON data); inside the tool's own span neither is needed.
    `actor`: `human`, `policy`, `hook`, `model`. `scope`: `once`, `session`, `always`. It becomes an event of the current
    span, or a span of its own where none is recording: then `session_id` is needed, and `user_id` where users may have
    sessions of the same name.
    """
    told = {
        "approval.decision": decision, "approval.actor.type": actor, "approval.actor.id": actor_id,
        "approval.scope": scope, "approval.reason": reason, "gen_ai.tool.call.id": call_id, "gen_ai.tool.name": tool,
        "gen_ai.tool.call.arguments": None if arguments is None else json.dumps(arguments, default=str),
        "gen_ai.conversation.id": session_id, "user.id": user_id,
    }  # fmt: skip
    attributes = {key: value for key, value in told.items() if value is not None}
    span = trace.get_current_span()
    if span.is_recording():
        span.add_event(EVENT, attributes)
    else:
        trace.get_tracer("trailhound").start_span(EVENT, attributes=attributes).end()
