"""The stop hook: asks a gateway of yours to halt one run, as soon as a rule speaks of it. It blocks nothing by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from trailhound.alerts.channels.base import Channel, SignedOptions, key_of, post_signed, target_of
from trailhound.alerts.notice import Notice
from trailhound.clock import rfc3339
from trailhound.model import Severity
from trailhound.section import Section


class Stop(Channel):
    """Posts the session, the run and its traces to a gateway that can halt it; once for each finding."""

    kind: ClassVar[str] = "stop"
    Options = SignedOptions
    least: ClassVar[Severity] = "critical"
    stops_runs: ClassVar[bool] = True
    has_budget: ClassVar[bool] = False

    def setup(self, options: Section) -> None:
        assert isinstance(options, SignedOptions)
        self._target, self._key = target_of(options, self.where), key_of(options, self.where)

    def deliver(self, notices: Sequence[Notice]) -> None:
        for notice in notices:
            post_signed(self._target, self._key, notice.notice_id, _wish(notice), self.clock, self.settings.timeout)


def _wish(notice: Notice) -> dict[str, object]:
    alert, run = notice.alert, notice.run
    assert alert is not None
    assert run is not None
    return {
        "id": notice.notice_id,
        "action": "stop",
        "at": rfc3339(notice.at_ns),
        "rule": alert.rule,
        "severity": alert.severity,
        "tenant": alert.tenant,
        "service": alert.service,
        "agent": alert.agent,
        "session_id": run.session_id,
        "trajectory_id": run.trajectory_id,
        "trace_ids": list(run.trace_ids),
        "alert_id": alert.alert_id,
    }
