"""The contract of every channel."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Sequence
from typing import ClassVar

import orjson
from pydantic import Field, SecretStr

from trailhound.alert_settings import Channel as Settings
from trailhound.alerts.life import RANK
from trailhound.alerts.notice import Notice
from trailhound.alerts.outward import Target, post
from trailhound.alerts.silences import Match, Named
from trailhound.alerts.wording import Pages
from trailhound.clock import Clock
from trailhound.errors import Invalid
from trailhound.model import Severity
from trailhound.secret import Reference, reveal
from trailhound.section import Section


class Channel:
    """One receiver of notices. Used by one thread, which may wait in `deliver`; nothing else waits for it.

    A subclass has a `kind`, the `type` of its settings, which makes it known, `Options`, and `deliver`.
    """

    kind: ClassVar[str]
    Options: ClassVar[type[Section]] = Section
    least: ClassVar[Severity] = "info"
    """Severity from which on it is told when its settings do not say."""
    stops_runs: ClassVar[bool] = False
    """True: it hears of runs with findings, one by one; else of alerts."""
    has_budget: ClassVar[bool] = True
    """False where every notice counts by itself and none is read by a person one by one."""

    def __init__(self, settings: Settings, options: Section, pages: Pages, clock: Clock, where: str) -> None:
        self.settings, self.pages, self.clock, self.where = settings, pages, clock, where
        self.resend_s: float | None = None
        """Seconds after which everything that stands is told again, for receivers that forget; None: never."""
        self._match = Match(
            tuple(settings.rules), tuple(settings.services), tuple(settings.agents), tuple(settings.tenants)
        )
        self.setup(options)

    @property
    def name(self) -> str:
        return self.settings.name

    @property
    def severity(self) -> Severity:
        return self.settings.severity or self.least

    def wants(self, named: Named, severity: Severity) -> bool:
        """Whether its settings send this there."""
        return RANK[severity] >= RANK[self.severity] and self._match(named)

    def setup(self, options: Section) -> None:
        """Take the options of the type; raises Invalid when it can never work."""
        raise NotImplementedError

    def deliver(self, notices: Sequence[Notice]) -> None:
        """Tell them, in order; when it returns they were taken. At least once: the same notice may come again.

        Raises Retryable when another attempt may succeed, Invalid when these notices never will.
        """
        raise NotImplementedError


class HttpOptions(Section):
    """Where a channel posts to."""

    url: SecretStr = Field(description="http:// or https:// address; `env:NAME` or `file:PATH` where it holds a token")
    allow_private: bool = Field(
        False, description="the name may lead into a private network; numeric addresses and localhost always may"
    )


class SignedOptions(HttpOptions):
    """A receiver that can know who posts."""

    secret: Reference | None = Field(
        None, description="`env:NAME` or `file:PATH` of the key that requests are signed with"
    )


def target_of(options: HttpOptions, where: str, path: str = "") -> Target:
    """The checked address; raises Invalid that does not print it."""
    url = _revealed(options.url, f"{where}.url")
    target = Target(url.rstrip("/") + path if path else url, options.allow_private)
    target.check(f"{where}.url")
    return target


def key_of(options: SignedOptions, where: str) -> bytes | None:
    """The signing key; `whsec_...` is base64, as the Standard Webhooks specification has it, other text is itself."""
    if options.secret is None:
        return None
    text = _revealed(options.secret, f"{where}.secret")
    if not text.startswith("whsec_"):
        return text.encode()
    try:
        return base64.b64decode(text.removeprefix("whsec_"), validate=True)
    except ValueError:
        raise Invalid(f"{where}.secret: what follows whsec_ is no base64", reason="config") from None


def _revealed(value: SecretStr, setting: str) -> str:
    try:
        return reveal(value)
    except Invalid as error:
        raise Invalid(f"{setting}: {error}", reason="config") from None


def signature(key: bytes, message_id: str, timestamp_s: int, body: bytes) -> str:
    """`v1,<base64 of HMAC-SHA256 over "id.timestamp.body">` (standardwebhooks.com, "Signature scheme")."""
    signed = f"{message_id}.{timestamp_s}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def post_signed(
    target: Target, key: bytes | None, notice_id: str, document: object, clock: Clock, timeout_s: float
) -> None:
    """POST JSON with `Idempotency-Key`, and with a signature where there is a key. Raises Retryable, Invalid."""
    body, timestamp_s = orjson.dumps(document), clock.now_ns() // 10**9
    headers = {
        "Content-Type": "application/json",
        "Idempotency-Key": notice_id,
        "webhook-id": notice_id,
        "webhook-timestamp": str(timestamp_s),
    }
    if key is not None:
        headers["webhook-signature"] = signature(key, notice_id, timestamp_s, body)
    post(target, body, headers, timeout_s)
