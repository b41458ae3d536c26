"""Settings of the judgement as a whole: evaluators of your own, findings that shall not alert, verdicts for others."""

from __future__ import annotations

from datetime import UTC, datetime, time
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, SecretStr

from trailhound.notation import Duration
from trailhound.section import Section


def _moment(value: Any) -> Any:
    """A date stands for its end in UTC; a time without an offset is in UTC."""
    if isinstance(value, str) and len(value) == len("2026-12-31"):
        value = datetime.fromisoformat(value).date()
    if isinstance(value, datetime):
        return value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    if hasattr(value, "isoformat"):
        return datetime.combine(value, time.max, UTC)
    return value


class Evaluators(Section):
    """Evaluators that do not come with Trailhound."""

    folder: Path | None = Field(
        None,
        description="every .py file in it, but for tests, is loaded for evaluators, with the rights of Trailhound itself",
    )
    step_budget: Duration = Field(
        0.1, gt=0, description="time one of them may take for a step; one that keeps overrunning is switched off"
    )


class Verdicts(Section):
    """Findings as OpenTelemetry events `gen_ai.evaluation.result`, for any backend. Needs the extra `verdicts`."""

    endpoint: str | None = Field(
        None, description="where they go: `http://host:4318/v1/logs`, or `http://host:4317` for gRPC; none: nowhere"
    )
    protocol: Literal["http", "grpc"] = Field("http", description="OTLP over HTTP (protobuf) or over gRPC")
    headers: dict[str, SecretStr] = Field(
        {}, description="headers of each request; a secret as `env:NAME` or `file:PATH`"
    )
    queue: int = Field(10_000, ge=1, description="events that wait at most; what is above is counted and let go")
    timeout: Duration = Field(10.0, gt=0, description="time after which a request has failed, its retries included")


class Suppression(Section):
    """Findings that are known and shall not alert for a while. All fields that are given must fit; globs are allowed."""

    rule: str = Field("*", description="id of the rule")
    service: str = Field("*", description="service of the finding")
    agent: str = Field("*", description="agent of the finding; one that is not known matches only `*`")
    tool: str = Field("*", description="tool that the finding is about (`details.tool`), whole name")
    finding: str = Field("*", description="id of one finding")
    reason: str = Field(min_length=3, description="why; shown with every finding that it suppresses")
    until: Annotated[datetime, BeforeValidator(_moment)] = Field(
        description="a date (its end in UTC) or an RFC 3339 time; what is received later is not suppressed"
    )
