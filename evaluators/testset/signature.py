"""Tells whether two failures are the same fault: by what was found and what it is about, not by when or how often."""

from __future__ import annotations

from typing import Any

from trailhound.canonical import digest
from trailhound.evaluators.testset.derive import standing

ABOUT = ("tool", "tools", "metric", "error_type")
"""Details of a finding that say what it is about; numbers and ids differ from run to run."""


def signature_of(run: dict[str, Any]) -> str:
    """16 hex digits, equal for runs of one agent in which the same rules found the same things."""
    found = sorted({digest([f["rule"], {k: f["details"].get(k) for k in ABOUT}]) for f in standing(run)})
    return digest([run["service"], run["agent"], run["status"], found])[:16]
