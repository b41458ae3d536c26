"""The contract of every store, and the few shapes that are only spoken of at its border."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from trailhound.canonical import stable_id
from trailhound.collector.decode import Received, decode_logs
from trailhound.errors import Invalid
from trailhound.model import Finding, LogRecord, Record, Run, Signal, Span, Step, Totals

SpanRow = tuple[Received, Step]
"""A span as received and what it means: one row of `otel_traces`."""

MAX_NS = 2**63 - 1

RUN_FILTERS = (
    "tenant", "service", "service_version", "environment", "agent", "session_id", "user_id", "status", "task",
)  # fmt: skip
FINDING_FILTERS = (
    "tenant", "service", "agent", "session_id", "trajectory_id", "finding_id", "rule", "severity", "state", "scope",
)  # fmt: skip
SESSION_FILTERS = ("tenant", "service", "agent", "session_id", "user_id")


@dataclass(frozen=True)
class Listing:
    """What a list is asked for. Lists are newest first; equal times go by id downwards.

    `filters` compare whole values; of several in a tuple, one must be equal. `after` is (time, id) of the last item of the page before. The time of a run or
    session is its start, that of a finding when it was first seen; `since_ns` is included, `until_ns` is not.
    """

    filters: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    since_ns: int = 0
    until_ns: int = MAX_NS + 1
    after: tuple[int, str] | None = None
    limit: int = 50


@dataclass(frozen=True)
class Inserted:
    """What became of a segment: every row of it is either stored or a dead letter."""

    stored: int
    dead: int = 0


@dataclass(frozen=True)
class DeadLetter:
    """A record or span that cannot be processed, kept as it came so that a person can look at it."""

    tenant: str
    received_ns: int
    reason: str
    """A closed word (`insert`, `decode`, ...), the same in metric, log and row."""
    raw: bytes
    detail: str = ""
    signal: Signal = "traces"
    trace_id: str = ""
    span_id: str = ""

    @property
    def id(self) -> str:
        """The same for the same letter on every replay."""
        place = (self.tenant, str(self.received_ns), self.reason, self.trace_id, self.span_id)
        return stable_id(*place, self.raw.hex())


@dataclass(frozen=True, slots=True)
class LogRow:
    """A log record that says something of a run: one row of `run_logs`."""

    tenant: str
    trace_id: str
    """The trace it is about; for an agent that sends no spans one made of session and turn."""
    span_id: str
    event_name: str
    service: str
    time_ns: int
    received_ns: int
    raw: bytes
    """An OTLP logs request that holds the record alone."""

    @property
    def id(self) -> str:
        """The same for the same record, however often it was sent."""
        return stable_id(self.tenant, self.trace_id, self.raw.hex())

    def record(self) -> LogRecord:
        """The log record as it was received."""
        [record] = decode_logs(Record("logs", self.tenant, self.raw, self.received_ns))
        return record


@dataclass(frozen=True)
class Stats:
    """What is stored, each thing counted once however often it was written."""

    spans: int
    trajectories: int
    findings: int
    dead_letter: int


@dataclass
class Session:
    """A session as its stored runs show it; `open` counts the runs that were not over when they were last written."""

    session_id: str
    tenant: str
    service: str
    agent: str | None
    user_id: str | None
    started_ns: int
    ended_ns: int
    trajectories: int
    open: int
    totals: Totals


class Store(Protocol):
    """Keeps what was judged. All methods may block and may be called from several threads at once.

    Every method raises Retryable for a passing fault (store away, overloaded, full) and Invalid where trying again
    cannot help. Writes are idempotent: the same write twice stores once.
    """

    def open(self) -> None:
        """Connect and bring the schema up to date. Raises Invalid(reason="schema") when the stored one is newer."""
        ...

    def close(self) -> None:
        """Let go of everything; safe to call twice and on a store that was never opened."""
        ...

    def insert_segment(self, token: str, rows: Sequence[SpanRow]) -> Inserted:
        """Store the spans of one journal segment: all of them, whatever was stored under this token before.

        The same token must always come with the same spans in the same order. A span that the store refuses becomes
        a dead letter and the others are stored. Of several rows of one span the one that ends last is shown,
        before any has ended the last one received.
        """
        ...

    def put_trajectories(self, runs: Sequence[Run], at_ns: int) -> None:
        """Write or rewrite the headers of runs. `at_ns` is the receive time of the newest record that the runs rest
        on: among versions of a run the highest `at_ns` is shown, among equals the last one written."""
        ...

    def put_findings(self, findings: Sequence[Finding], at_ns: int) -> None:
        """Write or rewrite findings; `at_ns` as for runs."""
        ...

    def put_dead_letters(self, letters: Sequence[DeadLetter]) -> None: ...

    def put_logs(self, rows: Sequence[LogRow]) -> None:
        """Keep log records; the same record is kept once."""
        ...

    def load_logs(self, tenant: str, trace_ids: Sequence[str]) -> list[LogRow]:
        """The log records about these traces in order of (time, id)."""
        ...

    def load_spans(self, tenant: str, trace_ids: Sequence[str]) -> list[Span]:
        """The spans of these traces in order of (start, span id), as they were received.

        Attribute values have the types they came with; bytes inside an array or map come back as base64 text.
        """
        ...

    def get_trajectory(self, key: str, tenant: str | None = None) -> Run | None:
        """The run with this trajectory id, else the first one of this trace id; `tenant` None looks in all."""
        ...

    def trajectories_of(self, tenant: str, keys: Sequence[str]) -> list[Run]:
        """The runs with one of these trajectory ids or trace ids, in order of (start, id).

        Of the runs of one trace those may be left out that have not its id, when one that has it is asked for.
        """
        ...

    def list_trajectories(self, listing: Listing) -> list[Run]:
        """Raises Invalid(reason="filter") for a filter that is not in RUN_FILTERS."""
        ...

    def list_findings(self, listing: Listing) -> list[Finding]:
        """Raises Invalid(reason="filter") for a filter that is not in FINDING_FILTERS."""
        ...

    def findings_of(self, tenant: str, trajectory_ids: Sequence[str]) -> list[Finding]:
        """All findings of these runs, in order of (first seen, id)."""
        ...

    def list_sessions(self, listing: Listing) -> list[Session]:
        """Raises Invalid(reason="filter") for a filter that is not in SESSION_FILTERS."""
        ...

    def stats(self) -> Stats: ...


def check_filters(listing: Listing, known: Sequence[str]) -> None:
    """Raises Invalid(reason="filter") for a filter name that the list does not have."""
    for name in listing.filters:
        if name not in known:
            raise Invalid(f"no filter `{name[:64]}` here; known: {', '.join(known)}", reason="filter")
