"""Whether an attempt at a model call got as far as a model."""

from __future__ import annotations

from trailhound.model import Step

_LOST = frozenset(
    ("apiconnectionerror", "connecterror", "connectionerror", "connectionrefusederror", "econnrefused", "enotfound")
)
"""Error types of the OpenAI and Anthropic SDKs, httpx, Claude Code (`connection_error`), Python and Node.js, in lower case."""


def reached(step: Step) -> bool:
    """False for a model call that failed because no connection came about: no model was asked, so it is no call.

    A server that answers with an error was reached, and so was one that broke off in the middle of its answer.
    """
    if step.status != "error" or step.usage is not None or step.response_id is not None or step.error is None:
        return True
    kind = (step.error.type or "").rpartition(".")[2].replace("_", "").lower()
    return kind not in _LOST and (step.error.message or "").strip(" .").lower() != "connection error"
