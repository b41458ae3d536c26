"""Slack, PagerDuty, Teams, Telegram, e-mail and over a hundred more, through the library apprise (extra `notify`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import Field, SecretStr

from trailhound.alerts.channels.base import Channel
from trailhound.alerts.notice import Notice
from trailhound.alerts.wording import body, title
from trailhound.errors import Invalid, Retryable
from trailhound.secret import reveal
from trailhound.section import Section

INCIDENT_KEYS = ("dedup", "alias")
"""What apprise's services call the key that makes several messages one incident (plugins/pagerduty.py, opsgenie.py)."""


class Options(Section):
    """Whom apprise tells."""

    url: SecretStr = Field(description="an apprise address such as slack://..., best as `env:NAME` or `file:PATH`")


class Apprise(Channel):
    """Tells people in their chat, mail or pager. Apprise knows no idempotency: after a crash one notice may come twice."""

    kind: ClassVar[str] = "apprise"
    Options = Options

    def setup(self, options: Section) -> None:
        assert isinstance(options, Options)
        self._apprise = _library(self.where)
        self._sender = self._apprise.Apprise()
        url = reveal(options.url)
        if not self._sender.add(url):
            raise Invalid(f"{self.where}.url: apprise does not know this address", reason="config")
        self._keyed = [found for service in self._sender if (found := _incident_key(service, url))]

    def deliver(self, notices: Sequence[Notice]) -> None:
        for notice in notices:
            self._tell(notice)

    def _tell(self, notice: Notice) -> None:
        kind = {"resolved": "success", "summary": "info"}.get(notice.transition)
        if kind is None:
            kind = "failure" if notice.alert is not None and notice.alert.severity == "critical" else "warning"
        for service, key in self._keyed:
            setattr(service, key, notice.alert.alert_id if notice.alert is not None else notice.notice_id)
        told = self._sender.notify(
            body=body(notice, self.pages),
            title=title(notice),
            notify_type=kind,
            body_format="text",
            interpret_escapes=False,
        )
        if not told:
            raise Retryable("apprise could not deliver")


def _incident_key(service: Any, url: str) -> tuple[Any, str] | None:
    """The service with the name of its incident key, where it keeps incidents and the address says nothing of the key.

    Left alone, apprise makes the key out of the title, which differs between firing and resolved, and some services
    (PagerDuty, SIGNL4, PagerTree) open an incident for each notice: so the action `map`, which resolves, is chosen too.
    """
    key = next((name for name in INCIDENT_KEYS if name in service.template_args and hasattr(service, name)), None)
    if key is None or getattr(service, key):
        return None
    if "map" in service.template_args["action"]["values"] and "action=" not in url.lower():
        service.action = "map"
    return service, key


def _library(where: str) -> Any:
    try:
        import apprise
    except ImportError:
        raise Invalid(
            f"{where}: the type `apprise` needs the library apprise: install trailhound[notify]", reason="config"
        ) from None
    return apprise
