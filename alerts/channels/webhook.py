"""The generic webhook: one POST of JSON for each notice, signed as Standard Webhooks are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from trailhound.alerts.channels.base import Channel, SignedOptions, key_of, post_signed, target_of
from trailhound.alerts.notice import Notice
from trailhound.alerts.wording import Pages, title
from trailhound.clock import rfc3339
from trailhound.document import alert_document
from trailhound.section import Section


class Webhook(Channel):
    """Posts JSON to any address of yours."""

    kind: ClassVar[str] = "webhook"
    Options = SignedOptions

    def setup(self, options: Section) -> None:
        assert isinstance(options, SignedOptions)
        self._target, self._key = target_of(options, self.where), key_of(options, self.where)

    def deliver(self, notices: Sequence[Notice]) -> None:
        for notice in notices:
            document = notice_document(notice, self.pages)
            post_signed(self._target, self._key, notice.notice_id, document, self.clock, self.settings.timeout)


def notice_document(notice: Notice, pages: Pages) -> dict[str, Any]:
    """The body: the same bytes on every attempt."""
    document: dict[str, Any] = {
        "id": notice.notice_id,
        "transition": notice.transition,
        "reason": notice.reason,
        "at": rfc3339(notice.at_ns),
        "title": title(notice),
        "alert": None,
        "links": {"alerts": pages.overview()},
    }
    if notice.held:
        document["held"] = notice.held
    if notice.alert is not None:
        runs = [url for run in notice.alert.examples if (url := pages.run(run))]
        document["alert"] = alert_document(notice.alert)
        document["joined"] = notice.joined
        document["links"] = {"alert": pages.alert(notice.alert), "runs": runs, "runbook": pages.runbook(notice.alert)}
    return document | ({"untrusted": list(notice.quotes)} if notice.quotes else {})
