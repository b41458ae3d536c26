"""Alertmanager's API v2: it keeps alerts in memory only, so everything that stands is sent again and again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, ClassVar

import orjson
from pydantic import Field

from trailhound.alerts.channels.base import Channel, HttpOptions, target_of
from trailhound.alerts.notice import Notice
from trailhound.alerts.outward import post
from trailhound.alerts.wording import body, title
from trailhound.clock import rfc3339
from trailhound.metrics import label_text
from trailhound.model import Alert, Severity
from trailhound.notation import Duration
from trailhound.section import Section

PATH = "/api/v2/alerts"
"""Alertmanager, docs/alerts_api.md."""
TOGETHER = 64
"""Alerts in a request."""
LABEL_LENGTH = 128


class Options(HttpOptions):
    """Where Alertmanager is, and how often it hears of what stands."""

    allow_private: bool = Field(True, description="the name may lead into a private network, where Alertmanager lives")
    resend: Duration = Field(
        60.0, ge=1, description="how often alerts that stand are sent again; it forgets in a restart"
    )
    labels: dict[Annotated[str, Field(min_length=1)], str] = Field(
        {}, description="further labels of every alert, for example `cluster: eu-1`"
    )


class Alertmanager(Channel):
    """Hands alerts to Prometheus Alertmanager, which groups, routes and tells them."""

    kind: ClassVar[str] = "alertmanager"
    Options = Options
    has_budget: ClassVar[bool] = False

    def setup(self, options: Section) -> None:
        assert isinstance(options, Options)
        self._target = target_of(options, self.where, PATH)
        self._labels = {_label_name(key): _value(value) for key, value in options.labels.items()}
        self.resend_s = options.resend

    def deliver(self, notices: Sequence[Notice]) -> None:
        alerts = list(_last_words(alert for notice in notices for alert in self._alerts(notice)).values())
        for start in range(0, len(alerts), TOGETHER):
            data = orjson.dumps(alerts[start : start + TOGETHER])
            post(self._target, data, {"Content-Type": "application/json"}, self.settings.timeout)

    def _alerts(self, notice: Notice) -> Iterator[dict[str, Any]]:
        """The alert, and where its severity rose the less severe one that it replaces, as ended."""
        alert = notice.alert
        if alert is None:
            return
        yield self._alert(notice, alert, alert.severity, self._ends(alert))
        for severity in notice.lower:
            ended_ns = notice.escalated_ns or alert.ends_ns or self.clock.now_ns()
            yield self._alert(notice, alert, severity, max(ended_ns, alert.starts_ns))

    def _ends(self, alert: Alert) -> int:
        """When Alertmanager takes it as ended should it never hear of it again: after four missed times, as with
        Prometheus (rules/alerting.go)."""
        return alert.ends_ns or self.clock.now_ns() + int(4 * max(60.0, self.resend_s or 0) * 1e9)

    def _alert(self, notice: Notice, alert: Alert, severity: Severity, ends_ns: int) -> dict[str, Any]:
        annotations = {"summary": title(notice), "description": body(notice, self.pages)}
        runbook = self.pages.runbook(alert)
        return {
            "labels": {**self._labels, **_labels(alert), "severity": severity},
            "annotations": annotations | ({"runbook_url": runbook} if runbook else {}),
            "startsAt": rfc3339(alert.starts_ns),
            "endsAt": rfc3339(ends_ns),
            "generatorURL": self.pages.alert(alert),
        }


def _last_words(alerts: Iterable[dict[str, Any]]) -> dict[tuple[tuple[str, str], ...], dict[str, Any]]:
    """By labels, which are an alert's identity for Alertmanager: of two it keeps the one that it hears of last, also
    where that one is of the past (provider/mem/mem.go, `Put`)."""
    return {tuple(sorted(alert["labels"].items())): alert for alert in alerts}


def _labels(alert: Alert) -> dict[str, str]:
    """Closed names; values bounded. An empty label is none for Alertmanager, so an unknown agent has a word."""
    return {
        "alertname": "Trailhound" + "".join(part.capitalize() for part in alert.rule.split("-")),
        "rule": alert.rule,
        "tenant": _value(alert.tenant),
        "service": _value(alert.service),
        "agent": _value(alert.agent or "unknown"),
    }


def _value(text: str) -> str:
    """As in our metrics, so that alerts and series have the same labels."""
    return label_text(text[:LABEL_LENGTH])


def _label_name(text: str) -> str:
    """Prometheus label names: letters, digits and `_`, no digit first."""
    name = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in text)
    return f"_{name}" if name[:1].isdigit() else name
