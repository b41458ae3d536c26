"""What people read in a notice: our own words, names made harmless, links only to our own pages."""

from __future__ import annotations

import re
import unicodedata

from trailhound.alerts.notice import Notice
from trailhound.clock import rfc3339
from trailhound.model import Alert
from trailhound.runbooks import runbooks

MAX_NAME = 64
_UNSAFE = re.compile(r"[^A-Za-z0-9 _\-·]")
_MARKUP = re.compile(r"[<>&@#*_~`|\\\[\](){}!\"'=+]")
_HEX = re.compile(r"[0-9a-fA-F-]{1,64}")
_SCHEME = re.compile(r":\s*/+")


def name(value: str | None) -> str:
    """A name that a sender chose, for a chat: no markup, no mention, nothing that a client turns into a link.

    Dots become middle dots: chat clients link bare host names.
    """
    if not value:
        return "unknown"
    return _UNSAFE.sub("_", value[:MAX_NAME].replace(".", "·"))


def quoted(content: str) -> str:
    """Text that a model wrote, as plain words on one line: without control, bidirectional and zero-width characters,
    without markup, and with addresses broken so that they are no links."""
    kept = "".join(c if unicodedata.category(c)[0] != "C" else " " for c in content)
    words = " ".join(_MARKUP.sub(" ", kept).split())
    return _SCHEME.sub(": ", words).replace(".", "·")


def title(notice: Notice) -> str:
    """One line: `FIRING critical: loop of returns_desk in shop`."""
    if notice.alert is None:
        return f"SUMMARY: {sum(notice.held.values())} notices were held back"
    alert = notice.alert
    word = {"repeat": "STILL FIRING", "stop": "STOP"}.get(notice.transition, notice.transition.upper())
    more = f", {notice.joined} more findings" if notice.transition == "summary" else ""
    return f"{word} {alert.severity}: {alert.rule} of {name(alert.agent)} in {name(alert.service)}{more}"


class Pages:
    """Addresses of our own pages, and of the runbooks."""

    def __init__(self, link: str, own_runbooks: str | None) -> None:
        self._link = link.rstrip("/")
        self._runbooks = own_runbooks.rstrip("/") if own_runbooks else None

    def alert(self, alert: Alert) -> str:
        return f"{self._link}/api/v1/alerts/{alert.alert_id}"

    def run(self, trajectory_id: str) -> str | None:
        """None for an id that is none of ours."""
        return f"{self._link}/api/v1/trajectories/{trajectory_id}" if _HEX.fullmatch(trajectory_id) else None

    def runbook(self, alert: Alert) -> str | None:
        """The operator's page about the rule, else ours; None where there is neither: a rule of an evaluator of theirs."""
        if self._runbooks:
            return f"{self._runbooks}/{alert.rule}"
        return f"{self._link}/runbooks/{alert.rule}" if alert.rule in runbooks() else None

    def overview(self) -> str:
        return f"{self._link}/api/v1/alerts"


def body(notice: Notice, pages: Pages) -> str:
    """Plain text of several lines."""
    lines = _held(notice) if notice.alert is None else _about(notice, notice.alert)
    lines += [f"untrusted, from the run: {quoted(quote)}" for quote in notice.quotes]
    if notice.alert is None:
        return "\n".join([*lines, pages.overview()])
    lines += [url for run in notice.alert.examples if (url := pages.run(run))]
    lines.append(pages.alert(notice.alert))
    runbook = pages.runbook(notice.alert)
    return "\n".join([*lines, f"Runbook: {runbook}"] if runbook else lines)


def _about(notice: Notice, alert: Alert) -> list[str]:
    findings = f"{alert.count} finding{'s' if alert.count != 1 else ''}"
    ended = f", ended {rfc3339(alert.ends_ns)[:19]}Z" if alert.ends_ns else ""
    lines = [f"{findings} since {rfc3339(alert.starts_ns)[:19]}Z{ended}, tenant {name(alert.tenant)}."]
    if notice.joined:
        lines.append(f"{notice.joined} joined since it was last told.")
    if notice.reason == "silenced":
        lines.append("It is silenced, and may still stand.")
    if notice.reason == "escalated":
        lines.append("It got worse.")
    return lines


def _held(notice: Notice) -> list[str]:
    lines = ["The hourly budget of this channel was used up. Not sent one by one:"]
    return lines + [f"{count} x {kind}" for kind, count in sorted(notice.held.items())]
