"""The settings of station 8: when a problem is told, to whom, and what is silenced."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from trailhound.model import Severity
from trailhound.notation import Duration, Names
from trailhound.section import Section


class Channel(Section):
    """One receiver of notices. Further keys are those of its type, see channels.md."""

    model_config = ConfigDict(extra="allow", validate_default=True)

    name: str = Field(
        pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$",
        description="its name in metrics and logs: small letters, digits, `-` and `_`",
    )
    type: str = Field(description="`alertmanager`, `webhook`, `apprise` or `stop`")
    severity: Severity | None = Field(
        None,
        description="alerts below this severity do not go there; none: its type's own (`critical` for `stop`, else all)",
    )
    rules: Names = Field(["*"], description="only alerts of these rules (globs)")
    services: Names = Field(["*"], description="only of these services (globs)")
    agents: Names = Field(["*"], description="only of these agents (globs)")
    tenants: Names = Field(["*"], description="only of these tenants (globs)")
    send_resolved: bool = Field(True, description="also tell that a problem is over")
    budget: int = Field(
        100,
        ge=1,
        description="notices in an hour; what is above becomes one summary at its end. The end of what was told is told besides",
    )
    include_content: bool = Field(
        False, description="also send what the rule says of the run, which quotes text that a model wrote"
    )
    timeout: Duration = Field(10.0, gt=0, le=60, description="an attempt that takes longer has failed")

    @property
    def options(self) -> dict[str, Any]:
        """The keys that belong to its type."""
        return dict(self.model_extra or {})


class Maintenance(Section):
    """Problems that are expected and not told: every field that is given must match."""

    rules: Names = Field(["*"], description="rules (globs)")
    services: Names = Field(["*"], description="services (globs)")
    agents: Names = Field(["*"], description="agents (globs)")
    tenants: Names = Field(["*"], description="tenants (globs)")
    since: str | None = Field(None, description="from this time on (RFC 3339); none: from the start")
    until: str | None = Field(None, description="before this time (RFC 3339); none: for good")
    reason: str = Field("", max_length=500, description="why, for those who ask")


class Alerts(Section):
    """When findings are told to people, and to whom. Without channels alerts are kept and shown, and nobody is told."""

    hold: Duration = Field(
        0.0,
        ge=0,
        alias="for",
        description="a problem must stand this long before it is told; `rules.<rule>.for` wins over it",
    )
    repeat: Duration = Field(4 * 3600.0, gt=0, description="a problem that goes on is told again after this time")
    summary_after: Duration = Field(
        10.0,
        gt=0,
        description="when more than five findings joined a problem since it was told, and none did for this long, one "
        "summary says how many; at most one between two repeats",
    )
    resolve_after: Duration = Field(
        900.0,
        gt=0,
        description="a problem is over when nothing was found for this long, or all its findings are resolved",
    )
    severity: Severity = Field("warning", description="findings below this severity make no alert")
    link: str = Field(
        "http://127.0.0.1:4320",
        pattern=r"^https?://[^\s@<>\"]+$",
        description="where readers of a notice reach this daemon",
    )
    runbooks: str | None = Field(
        None,
        pattern=r"^https?://[^\s@<>\"]+$",
        description="address under which there is one page per rule, named as the rule; it goes into every notice; none: "
        "the daemon's own pages under `link`",
    )
    channels: list[Channel] = Field([], description="who is told")
    silences: list[Maintenance] = Field([], description="planned maintenance: what is not told, and when")
