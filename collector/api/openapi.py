"""The OpenAPI 3.1 description, made from the route table."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from trailhound import __version__
from trailhound.collector.api.casework_schemas import CASEWORK
from trailhound.collector.api.query import DEFAULT_LIMIT, MAX_LIMIT
from trailhound.collector.api.routes import Route

_STRING = {"type": "string"}
_NULLABLE = {"type": ["string", "null"]}
_TIME = {"type": ["string", "null"], "format": "date-time"}
_NUMBER = {"type": "number"}
_NAMES = {"type": "array", "items": _STRING, "description": "Names or globs, matched whole"}
_BASE64 = {"type": "string", "contentEncoding": "base64", "contentMediaType": "application/x-protobuf"}
_COUNT = {"type": "integer", "minimum": 0}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


SCHEMAS: dict[str, dict[str, Any]] = {
    "Readiness": _object(ready={"type": "boolean"}, reasons={"type": "array", "items": _STRING}),
    "Stats": _object(
        spans=_COUNT, trajectories=_COUNT, findings=_COUNT, dead_letter=_COUNT, lag_seconds=_NUMBER, pending_blocks=_COUNT
    ),
    "Trajectory": _object(
        trajectory_id=_STRING, trace_ids={"type": "array", "items": _STRING}, tenant=_STRING, service=_STRING,
        service_version=_NULLABLE, environment=_NULLABLE, agent=_NULLABLE, agents={"type": "array", "items": _STRING},
        session_id=_NULLABLE, user_id=_NULLABLE,
        status={"enum": ["open", "waiting", "completed", "failed", "unfinished"]},
        started_at=_TIME, ended_at=_TIME, duration_s={"type": ["number", "null"]}, input={}, output={},
        dialects={"type": "array", "items": _STRING}, steps={"type": "array", "items": {"type": "object"}},
        totals={"type": "object"}, findings={"type": "array", "items": {"$ref": "#/components/schemas/Finding"}},
    ),
    "Traces": _object(
        items={"type": "array", "items": _object(trace_id=_STRING, spans=_BASE64, logs=_BASE64)},
    ),
    "Finding": _object(
        finding_id=_STRING, rule=_STRING, severity={"enum": ["info", "warning", "critical"]},
        state={"enum": ["pending", "firing", "resolved"]}, scope={"enum": ["trajectory", "session", "agent", "user", "tenant"]},
        trajectory_id=_NULLABLE, session_id=_NULLABLE, tenant=_STRING, service=_STRING, agent=_NULLABLE, summary=_STRING,
        expected=_STRING, actual=_STRING, evidence={"type": "array", "items": _object(trace_id=_STRING, span_id=_STRING)},
        first_seen=_TIME, last_seen=_TIME, details={"type": "object"},
    ),
    "Session": _object(
        session_id=_STRING, tenant=_STRING, service=_STRING, agent=_NULLABLE, user_id=_NULLABLE, started_at=_TIME,
        ended_at=_TIME, trajectories=_COUNT, open=_COUNT, totals={"type": "object"},
    ),
    "Alert": _object(
        alert_id=_STRING, rule=_STRING, tenant=_STRING, service=_STRING, agent=_NULLABLE,
        severity={"enum": ["info", "warning", "critical"]}, state={"enum": ["pending", "firing", "resolved"]}, count=_COUNT,
        examples={"type": "array", "items": _STRING, "maxItems": 5}, starts_at=_TIME, ends_at=_TIME,
    ),
    "Silence": _object(
        silence_id=_STRING, rules=_NAMES, services=_NAMES, agents=_NAMES, tenants=_NAMES, since=_TIME, until=_TIME,
        reason=_STRING, source={"enum": ["configuration", "api"]},
    ),
    "Baseline": _object(
        baseline_id=_STRING, tenant=_STRING, service=_STRING, agent=_NULLABLE, task=_NULLABLE,
        state={"enum": ["learning", "rolling", "frozen", "pinned"]}, runs=_COUNT, flagged=_COUNT, latest_at=_TIME,
        pinned_at=_TIME, pinned_from=_TIME, reason=_NULLABLE,
        metrics={
            "type": "object",
            "additionalProperties": {**_object(median=_NUMBER, spread=_NUMBER, runs=_COUNT), "type": ["object", "null"]},
        },
    ),
    "NewPin": _object(reason={"type": "string", "maxLength": 500}),
    "Silences": _object(items={"type": "array", "items": {"$ref": "#/components/schemas/Silence"}}),
    "NewSilence": {
        **_object(rules=_NAMES, services=_NAMES, agents=_NAMES, tenants=_NAMES, since=_TIME, until=_TIME, reason=_STRING),
        "required": ["until"],
    },
    "Approval": {
        **_object(
            decision={"enum": ["approved", "denied", "edited", "expired", "cancelled", "requested"]},
            tool=_STRING, call_id=_STRING, arguments={}, arguments_sha256={"type": "string", "pattern": "^[0-9a-fA-F]{64}$"},
            session_id=_STRING, trace_id={"type": "string", "pattern": "^[0-9a-fA-F]{32}$"}, user_id=_STRING,
            actor_type={"enum": ["human", "policy", "hook", "model", "unknown"], "default": "human"}, actor_id=_STRING,
            scope={"enum": ["once", "session", "always"], "default": "once"}, reason=_STRING, service=_STRING, decided_at=_TIME,
        ),
        "required": ["decision"],
    },
    **CASEWORK,
    "Problem": _object(type=_STRING, title=_STRING, status={"type": "integer"}, detail=_STRING),
}  # fmt: skip


def describe(routes: Iterable[Route]) -> dict[str, Any]:
    """The document that `/openapi.json` answers."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "Trailhound", "version": __version__, "summary": "Runs of LLM agents, judged while they run"},
        "paths": _paths(routes),
        "components": {"schemas": SCHEMAS},
    }


def _paths(routes: Iterable[Route]) -> dict[str, dict[str, Any]]:
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method] = _operation(route)
    return paths


def _operation(route: Route) -> dict[str, Any]:
    body = {"requestBody": {"required": True, "content": _json_of(route.takes)}} if route.takes else {}
    return body | {
        "summary": route.summary,
        "operationId": route.handler.__name__,
        "parameters": [*_path_parameters(route), *_query_parameters(route)],
        "responses": {
            "201" if route.method == "post" else "200": {
                "description": "Found" if route.method == "get" else "Done",
                "content": _content(route),
            },
            "default": {
                "description": "An error (RFC 9457)",
                "content": {"application/problem+json": {"schema": _reference("Problem")}},
            },
        },
    }


def _path_parameters(route: Route) -> list[dict[str, Any]]:
    names = re.findall(r"{(\w+)}", route.path)
    return [{"name": name, "in": "path", "required": True, "schema": _STRING} for name in names]


def _query_parameters(route: Route) -> list[dict[str, Any]]:
    if route.filters is None:
        return []
    limit = {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT}
    return [
        _parameter("cursor", "`next_cursor` of the page before"),
        _parameter("limit", "Most items on the page", limit),
        _parameter("since", "From this start on: RFC 3339, or an age like 7d"),
        _parameter("until", "Before this start: RFC 3339, or an age like 1h"),
        *(_parameter(name, f"Only where `{name}` is this, whole") for name in route.filters),
    ]


def _parameter(name: str, description: str, schema: dict[str, Any] = _STRING) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": description, "schema": schema}


def _content(route: Route) -> dict[str, Any]:
    if "/" in route.answer:
        return {route.answer: {"schema": _STRING}}
    schema = _reference(route.answer) if route.answer in SCHEMAS else {"type": "object"}
    if route.filters is not None:
        schema = _object(items={"type": "array", "items": schema}, next_cursor=_NULLABLE, partial=_STRING)
    return {"application/json": {"schema": schema}}


def _json_of(schema: str) -> dict[str, Any]:
    return {"application/json": {"schema": _reference(schema)}}


def _reference(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}
