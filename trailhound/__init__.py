"""Trailhound: watches LLM agents in production and judges each run while it is still running."""

from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """`from trailhound import record_approval`, for agents: loaded when asked for, so that this stays light."""
    if name == "record_approval":
        from trailhound.approving import record_approval

        return record_approval
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
