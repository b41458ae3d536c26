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

    def deliver(self, notices: Sequence[Notice]) -> None:
        for notice in notices:
            self._tell(notice)

    def _tell(self, notice: Notice) -> None:
        kind = {"resolved": "success", "summary": "info"}.get(notice.transition)
        if kind is None:
            kind = "failure" if notice.alert is not None and notice.alert.severity == "critical" else "warning"
        told = self._sender.notify(
            body=body(notice, self.pages),
            title=title(notice),
            notify_type=kind,
            body_format="text",
            interpret_escapes=False,
        )
        if not told:
            raise Retryable("apprise could not deliver")


def _library(where: str) -> Any:
    try:
        import apprise
    except ImportError:
        raise Invalid(
            f"{where}: the type `apprise` needs the library apprise: install trailhound[notify]", reason="config"
        ) from None
    return apprise
