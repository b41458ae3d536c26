"""What can be set for every rule: whether it judges, how severe its findings are, how long they must stand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from trailhound.checked import validated
from trailhound.model import Severity
from trailhound.notation import Duration

WORDS = get_args(Severity)


def _severities(value: Any) -> Any:
    said = [*value, *value.values()] if isinstance(value, dict) else [value]
    if value is None or all(word in WORDS for word in said):
        return value
    raise ValueError(f"write info, warning or critical, or for some of them {{warning: critical}}, not {value!r}")


class RuleSettings(BaseModel):
    """Settings of a rule in the configuration under `rules.<id>`; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", validate_default=True)

    enabled: bool = Field(True, description="whether this rule judges at all")
    severity: Annotated[Severity | dict[Severity, Severity] | None, BeforeValidator(_severities)] = Field(
        None,
        description="of its findings, in place of what the rule says: one word for all, or `{warning: critical}` for some",
    )
    hold: Annotated[Duration, Field(ge=0)] | None = Field(
        None, alias="for", description="how long its findings must stand before they alert; none: `alerts.for`"
    )

    def severity_of(self, said: Severity) -> Severity:
        """The severity of a finding of which the rule says `said`."""
        if isinstance(self.severity, dict):
            return self.severity.get(said, said)
        return said if self.severity is None else self.severity


def holds_ns(rules: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    """By rule the nanoseconds of its `for`, where the section `rules` has one; raises Invalid for what is no duration."""
    given = {rule: settings["for"] for rule, settings in rules.items() if settings.get("for") is not None}
    return {rule: _hold_ns(rule, hold) for rule, hold in given.items()}


def _hold_ns(rule: str, hold: Any) -> int:
    return int((validated(RuleSettings, {"for": hold}, f"rules.{rule}").hold or 0) * 1e9)
