"""Station 8 in the monitor process: hears what is judged, counts it, alerts, and answers what alerts there are."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from trailhound.alert_settings import Maintenance
from trailhound.alerts import silences
from trailhound.alerts.channels import make_channels
from trailhound.alerts.delivery import Delivery
from trailhound.alerts.exposition import Exposition
from trailhound.alerts.ledger import Ledger
from trailhound.alerts.life import Policy
from trailhound.alerts.pager import Pager
from trailhound.alerts.verdicts import VerdictEvents
from trailhound.canonical import stable_id
from trailhound.checked import explain
from trailhound.clock import Clock
from trailhound.config import Config
from trailhound.errors import Invalid, Retryable
from trailhound.evaluators.named import check_globs
from trailhound.evaluators.plugins import foreign_types
from trailhound.evaluators.registry import evaluator_types
from trailhound.evaluators.rule_settings import holds_ns
from trailhound.metrics import Metrics
from trailhound.model import Alert, Finding, Run, Step

log = logging.getLogger(__name__)

TICK_S = 0.25
"""How often time alone is looked at: the end of a wait, a repeat, a quiet time."""
TIDY_S = 3600.0
STOP_S = 1.0
ERROR_WAIT_S = 1.0


def policy_of(config: Config) -> Policy:
    """Raises Invalid for a `rules.<rule>.for` that is no duration."""
    settings = config.alerts
    return Policy(
        wait_ns=int(settings.hold * 1e9),
        repeat_ns=int(settings.repeat * 1e9),
        resolve_after_ns=int(settings.resolve_after * 1e9),
        calm_ns=int(settings.summary_after * 1e9),
        severity=settings.severity,
        holds_ns=holds_ns(config.rules),
    )


class Station:
    """Told by one thread (`steps` to `settle`); everything else may be called from any.

    Deciding has a thread, and so has every channel. Raises Invalid when a channel or silence is configured wrongly.
    """

    def __init__(self, config: Config, metrics: Metrics, rules: Iterable[str], clock: Clock) -> None:
        self._exposition = Exposition(metrics, rules, int(config.runs.grace * 1e9), clock)
        self._clock = clock
        self._rules = [*evaluator_types(), *foreign_types(config.evaluators.folder)]
        """Those that are switched off too: what they said before may still stand."""
        metrics.init("trailhound_alert_ledger_errors_total")
        self._ledger = Ledger(
            config.data_dir / "alerts.db", failed=lambda: metrics.inc("trailhound_alert_ledger_errors_total")
        )
        channels = make_channels(config.alerts, clock)
        planned = silences.configured(config.alerts.silences)
        self._pager = Pager(self._ledger, channels, policy_of(config), planned, clock, metrics)
        self._metrics = metrics
        self._deliveries = {
            channel.name: Delivery(channel, self._ledger, self._pager.standing_for, clock, metrics)
            for channel in channels
        }
        self._verdicts = VerdictEvents(config.verdicts, metrics) if config.verdicts.endpoint is not None else None
        self._told: list[Finding] = []
        self._wake, self._stop = threading.Event(), threading.Event()
        self._threads: list[threading.Thread] = []

    # ------------------------------------------------------------ what is judged

    @property
    def muted(self) -> bool:
        """Whether metrics only remember: alerts are not muted, as the ledger knows what was taken."""
        return self._exposition.muted

    @muted.setter
    def muted(self, value: bool) -> None:
        self._exposition.muted = value

    def steps(self, steps: Iterable[Step]) -> None:
        self._exposition.steps(steps)

    def run(self, run: Run) -> None:
        self._exposition.run(run)

    def closed(self, steps: Iterable[Step]) -> None:
        self._exposition.closed(steps)

    def findings(self, findings: Sequence[Finding]) -> None:
        self._exposition.findings(findings)
        if self._verdicts is not None and not self.muted:
            self._verdicts.take(findings)
        self._told += findings

    def settle(self, now_ns: int) -> None:
        self._exposition.settle(now_ns)
        if self._told:
            self._pager.take(self._told, now_ns)
            self._told = []
            self._wake.set()

    def flush(self) -> None:
        """Bring counters and gauges up to date."""
        self._exposition.flush()
        self._pager.measure()
        for delivery in self._deliveries.values():
            delivery.measure()

    def _count_pending(self) -> None:
        """Not at a scrape, which must not wait for the file. Raises Retryable; the last figures stay."""
        pending = self._ledger.pending()
        for name in self._deliveries:
            self._metrics.set("trailhound_notifications_pending", pending.get(name, 0), channel=name)

    # ------------------------------------------------------------ threads

    def start(self) -> None:
        if self._verdicts is not None:
            self._verdicts.start()
        self._spawn("alerts", self._run)
        for name, delivery in self._deliveries.items():
            self._spawn(f"alerts-{name}", delivery.run)

    def _spawn(self, name: str, work: Any) -> None:
        thread = threading.Thread(target=work, name=name, daemon=True)
        thread.start()
        self._threads.append(thread)

    def stop(self) -> None:
        """Does not wait for a channel that hangs: what it did not take waits in the outbox."""
        self._stop.set()
        self._wake.set()
        if self._verdicts is not None:
            self._verdicts.stop()
        for delivery in self._deliveries.values():
            delivery.stop()
        for thread in self._threads:
            thread.join(STOP_S)
        self._threads = []
        self._ledger.close()

    def _run(self) -> None:
        tidy_at_s = 0.0
        while not self._stop.is_set():
            try:
                self.durable()
                self._count_pending()
                if self._clock.monotonic_s() >= tidy_at_s:
                    self._ledger.tidy()
                    tidy_at_s = self._clock.monotonic_s() + TIDY_S
            except Retryable as error:
                log.error("alerts wait for their file: %s", error, extra={"reason": "alerts:ledger"})
                self._stop.wait(ERROR_WAIT_S)
            self._wake.wait(TICK_S)
            self._wake.clear()

    def durable(self) -> None:
        """Everything told so far is on disk when this returns; raises Retryable when the disk refuses.

        A bug here must not end the process that judges: it is logged, the cursor waits, and so do the findings.
        """
        try:
            names = self._pager.step()
        except Retryable:
            raise
        except Exception as error:
            log.exception("alerts cannot be decided")
            raise Retryable(f"alerts: a bug ({type(error).__name__})") from None
        for name in names:
            self._deliveries[name].wake()

    # ------------------------------------------------------------ questions

    def alerts(
        self, filters: Mapping[str, str], since_ns: int, until_ns: int, after: tuple[int, str] | None, limit: int
    ) -> list[Alert]:
        """Newest first, then by id downwards. Raises Retryable."""
        return self._ledger.alerts(filters, since_ns, until_ns, after, limit)

    def silences(self) -> list[dict[str, object]]:
        """Those that hold now or later."""
        now_ns = self._clock.now_ns()
        known = (*self._pager.planned, *self._pager.silences)
        return [silence.document() for silence in known if silence.until_ns > now_ns]

    def silence(self, wanted: Mapping[str, Any]) -> dict[str, object]:
        """Set a silence; raises Invalid for one that cannot be meant, Retryable when it cannot be kept."""
        try:
            asked = Maintenance.model_validate(dict(wanted))
        except ValidationError as error:
            raise Invalid(explain(error, Maintenance, "silence"), reason="silence") from None
        if asked.until is None:
            raise Invalid("silence: `until` is needed; one for good belongs into the configuration", reason="silence")
        silence_id = stable_id("silence", str(self._clock.now_ns()), repr(asked))[:16]
        check_globs("silence.rules", asked.rules, self._rules, "silence")
        made = silences.make(silence_id, asked, "api", "silence")
        if made.until_ns <= self._clock.now_ns():
            raise Invalid("silence: `until` is in the past", reason="silence")
        self._pager.silence(made)
        return made.document()

    def unsilence(self, silence_id: str) -> bool:
        """End a silence that was set; False when there is none. Those of the configuration are changed there."""
        return self._pager.unsilence(silence_id)
