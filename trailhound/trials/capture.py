"""Captures what a trial exports: in this process through the OpenTelemetry SDK, or from another one over OTLP/HTTP."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from trailhound.collector.receive.inflate import coding_of, inflate
from trailhound.errors import Invalid

Records = list[tuple[str, bytes]]
"""(`traces` or `logs`, OTLP protobuf request)."""

MAX_BODY = 64 * 2**20


class InProcess:
    """Takes every span and log record that this process ends, from the providers that are set or from its own.

    Needs opentelemetry-sdk (`pip install 'trailhound[testset]'`). One object serves all trials of a process.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._records: Records = []
        _listen_to_spans(self)
        _listen_to_logs(self)

    def take(self, signal: str, body: bytes) -> None:
        with self._lock:
            self._records.append((signal, body))

    def drain(self) -> Records:
        """What came since the last time; a trial begins and ends with it."""
        with self._lock:
            taken, self._records = self._records, []
        return taken


def _listen_to_spans(sink: InProcess) -> None:
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

    class Exporter(SpanExporter):
        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            sink.take("traces", encode_spans(spans).SerializeToString())
            return SpanExportResult.SUCCESS

    provider: Any = trace.get_tracer_provider()
    if not hasattr(provider, "add_span_processor"):
        provider = TracerProvider()
        trace.set_tracer_provider(provider)
    provider.add_span_processor(SimpleSpanProcessor(Exporter()))


def _listen_to_logs(sink: InProcess) -> None:
    """Several instrumentations tell contents in log records alone."""
    from opentelemetry import _logs
    from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import LogRecordExporter, LogRecordExportResult, SimpleLogRecordProcessor

    class Exporter(LogRecordExporter):
        def export(self, batch: Sequence[Any]) -> LogRecordExportResult:
            sink.take("logs", encode_logs(batch).SerializeToString())
            return LogRecordExportResult.SUCCESS

        def force_flush(self, timeout_millis: int = 0) -> bool:
            return True  # nothing is held back

        def shutdown(self) -> None:
            """Nothing to let go of."""

    provider: Any = _logs.get_logger_provider()
    if not hasattr(provider, "add_log_record_processor"):
        provider = LoggerProvider()
        _logs.set_logger_provider(provider)
    provider.add_log_record_processor(SimpleLogRecordProcessor(Exporter()))


class Port:
    """An OTLP/HTTP receiver on a free loopback port, for one trial of an agent in a process of its own."""

    def __init__(self) -> None:
        self.records: Records = []
        port = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.send_response(port._take(self))
                self.send_header("Content-Type", "application/x-protobuf")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing: the terminal shows the trials."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def environment(self) -> dict[str, str]:
        """What makes an OpenTelemetry SDK export to this port, at once and as protobuf."""
        return {
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.endpoint,
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            "OTEL_TRACES_EXPORTER": "otlp",
            "OTEL_LOGS_EXPORTER": "otlp",
            "OTEL_METRICS_EXPORTER": "none",
            "OTEL_BSP_SCHEDULE_DELAY": "200",
        }

    def _take(self, request: BaseHTTPRequestHandler) -> int:
        """The status of the answer; 200 is said only of what was kept."""
        signal = {"/v1/traces": "traces", "/v1/logs": "logs", "/v1/metrics": "metrics"}.get(request.path)
        if signal is None:
            return 404
        length = int(request.headers.get("Content-Length") or 0)
        if length > MAX_BODY:
            return 413
        if "json" in (request.headers.get("Content-Type") or ""):
            return 415
        try:
            body = inflate(
                request.rfile.read(length), coding_of(request.headers.get("Content-Encoding") or ""), MAX_BODY
            )
        except Invalid:
            return 400
        if signal != "metrics":
            self.records.append((signal, body))
        return 200

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
