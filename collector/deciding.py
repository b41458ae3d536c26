"""Decisions told over the API: each becomes a log record of the neutral convention, and goes into the journal first."""

from __future__ import annotations

import http.client
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import orjson
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from pydantic import Field, ValidationError

from trailhound.canonical import MAX_DEPTH, digest, too_deep
from trailhound.checked import explain
from trailhound.clock import Clock, rfc3339, rfc3339_ns
from trailhound.collector.dialects.approvals import NAME, UNDATED
from trailhound.errors import Invalid, Retryable
from trailhound.section import Section

TIMEOUT_S = 10.0
AHEAD_NS = 300_000_000_000
"""How far a clock may be ahead of ours."""


class Decision(Section):
    """What `POST /api/v1/approvals` takes. It names one call, by its id or by its tool and arguments, or a whole tool."""

    decision: Literal["approved", "denied", "edited", "expired", "cancelled", "requested"]
    tool: str | None = Field(None, min_length=1, max_length=256)
    call_id: str | None = Field(None, min_length=1, max_length=256)
    arguments: Any = None
    arguments_sha256: str | None = Field(None, pattern="^[0-9a-fA-F]{64}$")
    session_id: str | None = Field(None, min_length=1, max_length=256)
    trace_id: str | None = Field(None, pattern="^[0-9a-fA-F]{32}$")
    user_id: str | None = Field(None, min_length=1, max_length=256)
    actor_type: Literal["human", "policy", "hook", "model", "unknown"] = "human"
    actor_id: str | None = Field(None, max_length=256)
    scope: Literal["once", "session", "always"] = "once"
    reason: str | None = Field(None, max_length=4096)
    service: str = Field("approvals-api", min_length=1, max_length=256)
    decided_at: str | None = None


def decision_of(given: Mapping[str, object]) -> Decision:
    """The decision in a request body; raises Invalid that says what is wrong or missing."""
    try:
        decision = Decision.model_validate(given)
    except ValidationError as error:
        raise Invalid(explain(error, Decision), reason="approval") from None
    named = decision.arguments is not None or decision.arguments_sha256 is not None or decision.scope != "once"
    if decision.call_id is None and (decision.tool is None or not named):
        raise Invalid("name the call: `call_id`, or `tool` with `arguments` or `arguments_sha256`", reason="approval")
    nowhere = decision.trace_id is None or not decision.trace_id.strip("0")
    if decision.session_id is None and nowhere and decision.scope != "always":
        raise Invalid("say where: `session_id` or `trace_id` (not all zeros)", reason="approval")
    _check_arguments(decision)
    return decision


def _check_arguments(decision: Decision) -> None:
    told = decision.arguments_sha256
    if too_deep(decision.arguments):
        raise Invalid(f"`arguments` nest deeper than {MAX_DEPTH} levels: give `arguments_sha256`", reason="approval")
    if told is not None and decision.arguments is not None and told.lower() != digest(decision.arguments):
        raise Invalid("`arguments_sha256` is not that of `arguments`: give one of them", reason="approval")


def log_request(decision: Decision, now_ns: int) -> tuple[bytes, int]:
    """An OTLP logs request that tells of the decision, and when that was made (Unix nanoseconds). Raises Invalid."""
    try:
        decided_ns = now_ns if decision.decided_at is None else rfc3339_ns(decision.decided_at)
    except ValueError:
        raise Invalid("`decided_at` must be a time like 2026-11-30T12:00:00Z", reason="approval") from None
    if decided_ns <= 0:
        raise Invalid("`decided_at` is before 1970", reason="approval")
    if decided_ns > now_ns + AHEAD_NS:
        raise Invalid("`decided_at` is in the future", reason="approval")
    request = ExportLogsServiceRequest()
    group = request.resource_logs.add()
    group.resource.attributes.add(key="service.name").value.string_value = decision.service
    record = group.scope_logs.add().log_records.add(event_name=NAME, time_unix_nano=decided_ns)
    record.trace_id = bytes.fromhex(decision.trace_id or "")
    for key, value in _attributes(decision).items():
        if value is not None:
            record.attributes.add(key=key).value.string_value = value
    return request.SerializeToString(), decided_ns


def _attributes(decision: Decision) -> dict[str, str | None]:
    """In the names of the neutral convention (SEMCONV 4.1)."""
    return {
        "gen_ai.tool.name": decision.tool,
        "gen_ai.tool.call.id": decision.call_id,
        "gen_ai.tool.call.arguments": None if decision.arguments is None else orjson.dumps(decision.arguments).decode(),
        "gen_ai.conversation.id": decision.session_id,
        "user.id": decision.user_id,
        "approval.decision": decision.decision,
        "approval.actor.type": decision.actor_type,
        "approval.actor.id": decision.actor_id,
        "approval.scope": decision.scope,
        "approval.reason": decision.reason,
        "approval.arguments.sha256": decision.arguments_sha256,
        UNDATED: "true" if decision.decided_at is None else None,
    }


class Deciding:
    """Hands decisions to the receiver, which answers when they are on disk; its address is in a file of the run folder."""

    def __init__(self, address: Path, clock: Clock) -> None:
        self._address, self._clock = address, clock

    def record(self, given: Mapping[str, object]) -> dict[str, Any]:
        """Returns what was recorded, once it survives a crash. Raises Invalid, or Retryable when the receiver is away."""
        decision = decision_of(given)
        body, decided_ns = log_request(decision, self._clock.now_ns())
        self._send(body)
        told = decision.model_dump(exclude_none=True, exclude={"decided_at"})
        return told | {"decided_at": rfc3339(decided_ns)}

    def _send(self, body: bytes) -> None:
        try:
            host, _, port = self._address.read_text("ascii").strip().rpartition(":")
            connection = http.client.HTTPConnection(host.strip("[]"), int(port), timeout=TIMEOUT_S)
            try:
                connection.request("POST", "/v1/logs", body, {"Content-Type": "application/x-protobuf"})
                status = connection.getresponse().status
            finally:
                connection.close()
        except (OSError, ValueError, http.client.HTTPException):
            raise Retryable("the receiver cannot be reached") from None
        if status != 200:
            raise Retryable(f"the receiver does not take it now (HTTP {status})")
