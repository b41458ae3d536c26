"""The JSON of cases and reviews, for `/openapi.json`."""

from __future__ import annotations

from typing import Any

from trailhound.collector.case_shelf import Wanted
from trailhound.collector.reviews.verdict import Judged, Taken

_STRING = {"type": "string"}
_NULLABLE = {"type": ["string", "null"]}
_TIME = {"type": ["string", "null"], "format": "date-time"}
_COUNT = {"type": "integer", "minimum": 0}
_STRINGS = {"type": "array", "items": _STRING}
_VERDICT = {"enum": ["S", "P", "F", None]}
_CAUSE = {"enum": ["model", "tool", "environment", "task", None]}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a pydantic model without references, which would point outside its component."""
    parts = schema.pop("$defs", {})

    def resolved(value: Any) -> Any:
        if isinstance(value, dict):
            name = str(value.get("$ref", "")).rpartition("/")[2]
            return resolved(parts[name]) if name in parts else {key: resolved(item) for key, item in value.items()}
        return [resolved(item) for item in value] if isinstance(value, list) else value

    return dict(resolved(schema))


CASEWORK: dict[str, dict[str, Any]] = {
    "NewCase": _inlined(Wanted.model_json_schema()),
    "Taken": _inlined(Taken.model_json_schema()),
    "Judgement": _inlined(Judged.model_json_schema()),
    "Promoted": _object(
        case_id=_STRING, path=_STRING, written={"type": "boolean"}, matches={"type": "boolean"},
        proof={"type": ["object", "null"]}, redacted={"type": "object"}, unknowns=_STRINGS, yaml=_STRING,
    ),
    "CaseHeader": _object(
        case_id=_STRING, title=_STRING, family=_STRING, signature=_NULLABLE, split={"enum": ["dev", "regression", "holdout"]},
        core={"type": "boolean"}, trajectory_id=_STRING, tenant=_STRING, service=_STRING, agent=_NULLABLE, promoted_at=_TIME,
        promoted_by=_NULLABLE, fails_on_its_own_trajectory={"type": "boolean"}, unknowns=_COUNT,
    ),
    "Case": _object(case_id=_STRING, path=_STRING, case={"type": "object"}, yaml=_STRING),
    "Review": _object(
        trajectory_id=_STRING, tenant=_STRING, service=_STRING, service_version=_NULLABLE, agent=_NULLABLE, intent=_STRING,
        stratum={"enum": ["fault", "common", "long_tail", "hard", None]}, outcome={"enum": ["failure", "partial", "success"]},
        status=_STRING, rules=_STRINGS, models=_STRINGS, started_at=_TIME,
        state={"enum": ["waiting", "taken", "second", "reviewed", "agreed", "disputed"]}, taken_by=_NULLABLE, verdict=_VERDICT,
        cause=_CAUSE, judgements={"type": "array", "items": {"type": "object"}}, trail={"type": "array", "items": {"type": "object"}},
    ),
    "ReviewStats": _object(
        runs=_COUNT, S=_COUNT, P=_COUNT, F=_COUNT, weighted_completion={"type": ["number", "null"]}, by_cause={"type": "object"},
        second_readers={"type": "object"}, models={"type": "array", "items": {"type": "object"}}, waiting={"type": "object"},
    ),
}  # fmt: skip
