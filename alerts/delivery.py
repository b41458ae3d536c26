"""Brings notices to one channel: a thread of its own, so a channel that hangs delays no other and no judging."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable, Sequence

from trailhound import failpoint
from trailhound.alerts.channels.base import Channel
from trailhound.alerts.ledger import Ledger
from trailhound.alerts.notice import Notice
from trailhound.clock import Clock
from trailhound.errors import Invalid, Retryable
from trailhound.metrics import Metrics

log = logging.getLogger(__name__)

FIRST_WAIT_S, MAX_WAIT_S = 0.5, 30.0
"""Pauses after failures: doubling, with jitter, for as long as it takes; after an outage everything is told within
twice the longest."""
OPEN_AFTER = 5
"""Failures in a row after which a channel counts as broken: only the pause's end tries it."""
HANGS_S = 60.0
"""An attempt that takes longer has failed, whatever becomes of it: `timeout` is at most that."""
LOOK_S = 5.0
"""How often a quiet channel looks for itself, should nobody wake it."""


def pause_s(failures: int, random_share: float) -> float:
    """Seconds to wait after so many failures in a row; `random_share` is in [0, 1): half of the pause is jitter."""
    longest: float = min(MAX_WAIT_S, FIRST_WAIT_S * 2.0 ** (min(failures, 20) - 1))
    return longest * (0.5 + random_share / 2)


class Delivery:
    """`standing` gives what a channel with `resend_s` is to hear of again."""

    def __init__(
        self,
        channel: Channel,
        ledger: Ledger,
        standing: Callable[[Channel], Sequence[Notice]],
        clock: Clock,
        metrics: Metrics,
    ) -> None:
        self.channel, self._ledger, self._standing = channel, ledger, standing
        self._clock, self._metrics = clock, metrics
        self._wake, self._stopping = threading.Event(), threading.Event()
        self._failures, self._failing_since_s = 0, 0.0
        self._trying_since_s: float | None = None
        self._resend_at_s = 0.0
        for outcome in ("sent", "failed", "rejected"):
            metrics.init("trailhound_notifications_total", channel=channel.name, outcome=outcome)
        metrics.init("trailhound_notifications_withheld_total", channel=channel.name)
        metrics.init("trailhound_notification_seconds", channel=channel.name)
        metrics.init("trailhound_notification_delay_seconds", channel=channel.name)
        self.measure()

    def wake(self) -> None:
        """Something waits for the channel."""
        self._wake.set()

    def stop(self) -> None:
        self._stopping.set()
        self._wake.set()

    def run(self) -> None:
        """Until `stop`."""
        while not self._stopping.is_set():
            self._wake.clear()
            try:
                wait_s = 0.0 if self.step() else self._idle_s()
            except Retryable as error:
                log.warning("alerts: %s: %s", self.channel.name, error, extra={"reason": f"alerts:{self.channel.name}"})
                self._stopping.wait(pause_s(max(1, self._failures), random.random()))
                continue
            if wait_s:
                self._wake.wait(wait_s)

    def step(self) -> bool:
        """Deliver the oldest notice, or tell again what stands; False when nothing was due. Raises Retryable."""
        waiting = self._ledger.next(self.channel.name)
        if waiting is not None:
            seq, notice = waiting
            self._deliver([notice])
            self._metrics.observe(
                "trailhound_notification_delay_seconds",
                max(0, self._clock.now_ns() - notice.at_ns) / 1e9,
                channel=self.channel.name,
            )
            self._ledger.done(seq)
            return True
        return self._resend()

    def _resend(self) -> bool:
        every_s = self.channel.resend_s
        if every_s is None or self._clock.monotonic_s() < self._resend_at_s:
            return False
        notices = self._standing(self.channel)
        if notices:
            self._deliver(notices)
        self._resend_at_s = self._clock.monotonic_s() + every_s
        return bool(notices)

    def _idle_s(self) -> float:
        if self.channel.resend_s is None:
            return LOOK_S
        return max(0.01, min(LOOK_S, self._resend_at_s - self._clock.monotonic_s()))

    def _deliver(self, notices: Sequence[Notice]) -> None:
        """One attempt. A notice that is refused for good is logged and let go of: it must not stop the others."""
        begun_s = self._trying_since_s = self._clock.monotonic_s()
        failpoint.hit("alerts.before_notify")
        outcome = "failed"
        try:
            self.channel.deliver(notices)
            outcome = "sent"
        except Retryable:
            raise
        except Invalid as error:
            outcome = "rejected"
            ids = ", ".join(notice.notice_id for notice in notices[:5])
            log.error("alerts: %s refuses %s for good: %s", self.channel.name, ids, error)
        except Exception as error:
            log.exception("alerts: %s has a bug", self.channel.name)
            raise Retryable(f"a bug in this channel ({type(error).__name__})") from None
        finally:
            self._trying_since_s = None
            self._count(outcome, self._clock.monotonic_s() - begun_s)
        failpoint.hit("alerts.after_notify")

    def _count(self, outcome: str, took_s: float) -> None:
        name = self.channel.name
        self._metrics.inc("trailhound_notifications_total", channel=name, outcome=outcome)
        self._metrics.observe("trailhound_notification_seconds", took_s, channel=name)
        if outcome != "failed":
            self._failures, self._failing_since_s = 0, 0.0
            return
        self._failures += 1
        self._failing_since_s = self._failing_since_s or self._clock.monotonic_s()

    def measure(self) -> None:
        """Set the channel's gauges."""
        name = self.channel.name
        self._metrics.set("trailhound_notifier_failing_seconds", self._failing_s(), channel=name)
        self._metrics.set("trailhound_notifier_circuit_open", float(self._failures >= OPEN_AFTER), channel=name)

    def _failing_s(self) -> float:
        """Since the first failure in a row; or since an attempt began that hangs, where a library knows no timeout."""
        now_s, trying_s = self._clock.monotonic_s(), self._trying_since_s
        failing_s = now_s - self._failing_since_s if self._failing_since_s else 0.0
        hanging_s = now_s - trying_s if trying_s is not None else 0.0
        return max(failing_s, hanging_s if hanging_s > HANGS_S else 0.0)
