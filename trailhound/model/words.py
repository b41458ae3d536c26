"""The closed words of the domain: kinds, states, verdicts."""

from __future__ import annotations

from typing import Any, Literal

AttributeValue = Any
"""str, bool, int, float, bytes, None, list or dict of these: an OTLP AnyValue as Python data."""

Kind = Literal["llm", "tool", "agent", "retrieval", "embedding", "guardrail", "approval", "handoff", "other"]
Status = Literal["ok", "error", "denied", "pending", "open"]
RunStatus = Literal["open", "waiting", "completed", "failed", "unfinished"]
Severity = Literal["info", "warning", "critical"]
FindingState = Literal["pending", "firing", "resolved"]
Scope = Literal["trajectory", "session", "agent", "user", "tenant"]
Decision = Literal["approved", "denied", "edited", "expired", "cancelled", "requested"]
Verdict = Literal["approved", "denied", "policy", "missing", "unknown"]
Signal = Literal["traces", "logs"]
