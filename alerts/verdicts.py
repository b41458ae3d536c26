"""Verdicts for other backends: each finding as an OpenTelemetry event `gen_ai.evaluation.result`, over OTLP."""

from __future__ import annotations

import logging
import re
import threading
from collections import deque
from collections.abc import Sequence
from typing import Any

from trailhound import __version__
from trailhound.errors import Invalid
from trailhound.judgement import Verdicts
from trailhound.metrics import Metrics
from trailhound.model import Finding
from trailhound.secret import reveal

log = logging.getLogger(__name__)

EVENT = "gen_ai.evaluation.result"
"""Event name and attributes: OpenTelemetry GenAI semantic conventions 1.38, SEMCONV section 1."""
BATCH = 512
"""Events in one request (the default of the SDK's batch processors)."""
MAX_TEXT = 1000
STOP_S = 2.0
NAME = "trailhound_verdicts_total"


class VerdictEvents:
    """Sends findings from a thread of its own; whoever tells them never waits.

    What does not fit into the queue, or is not taken by the endpoint, is counted and let go: the findings themselves
    are in the store. After a restart a finding that changes is sent again with its id, which tells copies apart.
    Raises Invalid when the settings name no endpoint that can be used or the extra `verdicts` is not installed.
    """

    def __init__(self, settings: Verdicts, metrics: Metrics) -> None:
        self._metrics, self._limit = metrics, settings.queue
        self._exporter = _exporter(settings)
        self._queue: deque[Finding] = deque()
        self._lock, self._wake, self._stop = threading.Lock(), threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="verdicts", daemon=True)
        for outcome in ("sent", "failed", "dropped"):
            metrics.init(NAME, outcome=outcome)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Gives the last events a moment to go out."""
        self._stop.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(STOP_S)
        self._exporter.shutdown()

    def take(self, findings: Sequence[Finding]) -> None:
        """Findings that are new or changed; pending ones are no verdicts yet."""
        told = [f for f in findings if f.state != "pending"]
        with self._lock:
            room = max(0, self._limit - len(self._queue))
            self._queue.extend(told[:room])
        if len(told) > room:
            self._metrics.inc(NAME, len(told) - room, outcome="dropped")
        self._wake.set()

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            ending = self._stop.is_set()
            while batch := self._next():
                self._send(batch)
            if ending:
                return

    def _next(self) -> list[Finding]:
        with self._lock:
            return [self._queue.popleft() for _ in range(min(BATCH, len(self._queue)))]

    def _send(self, batch: list[Finding]) -> None:
        try:
            sent = self._exporter.export([_record(finding) for finding in batch]).name == "SUCCESS"
        except Exception:  # of a library that must not end the thread
            log.exception("verdicts could not be sent")
            sent = False
        self._metrics.inc(NAME, len(batch), outcome="sent" if sent else "failed")


def _record(finding: Finding) -> Any:
    """The SDK's form of one event, in the context of the last call that the finding points at."""
    from opentelemetry._logs import LogRecord, SeverityNumber
    from opentelemetry.sdk._logs import ReadableLogRecord
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

    trace_id, span_id = finding.evidence[-1] if finding.evidence else ("0", "0")
    context = SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=True, trace_flags=TraceFlags(1))
    number = {"info": SeverityNumber.INFO, "warning": SeverityNumber.WARN, "critical": SeverityNumber.ERROR}
    record = LogRecord(
        timestamp=finding.last_seen_ns,
        observed_timestamp=finding.last_seen_ns,
        context=set_span_in_context(NonRecordingSpan(context)),
        severity_number=number[finding.severity],
        severity_text=finding.severity.upper(),
        event_name=EVENT,
        attributes=_attributes(finding),
    )
    resource = Resource({"service.name": "trailhound", "service.version": __version__})
    return ReadableLogRecord(record, resource, InstrumentationScope("trailhound.evaluators", __version__))


def _attributes(finding: Finding) -> dict[str, Any]:
    over = finding.state == "resolved"
    attributes: dict[str, Any] = {
        "gen_ai.evaluation.name": finding.rule,
        "gen_ai.evaluation.score.label": "pass" if over else "fail",
        "gen_ai.evaluation.score.value": 1.0 if over else 0.0,
        "gen_ai.evaluation.explanation": finding.summary[:MAX_TEXT],
        "gen_ai.agent.name": finding.agent,
        "gen_ai.conversation.id": finding.session_id,
        "trailhound.finding.id": finding.finding_id,
        "trailhound.finding.severity": finding.severity,
        "trailhound.finding.state": "suppressed" if "suppressed" in finding.details else finding.state,
        "trailhound.finding.scope": finding.scope,
        "trailhound.trajectory.id": finding.trajectory_id,
        "trailhound.service": finding.service,
        "trailhound.tenant": finding.tenant,
    }
    return {name: value for name, value in attributes.items() if value not in (None, "")}


def _exporter(settings: Verdicts) -> Any:
    """The SDK's OTLP exporter for the endpoint, over HTTP or gRPC."""
    if settings.endpoint is None:
        raise Invalid("verdicts.endpoint: names no endpoint", reason="config")
    if re.match(r"https?://[^/]", settings.endpoint) is None:
        said = settings.endpoint[:200]
        raise Invalid(f"verdicts.endpoint: {said!r} is no http:// or https:// address", reason="config")
    headers = {name.lower(): reveal(value) for name, value in settings.headers.items()}
    try:
        if settings.protocol == "grpc":
            from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter as GrpcExporter

            return GrpcExporter(endpoint=settings.endpoint, headers=headers, timeout=settings.timeout)
        from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter as HttpExporter
    except ImportError:
        raise Invalid(
            "verdicts.endpoint: needs the OpenTelemetry SDK: install trailhound[verdicts]", reason="config"
        ) from None
    return HttpExporter(endpoint=settings.endpoint, headers=headers, timeout=settings.timeout)
