"""Where recorded traffic comes from: a running daemon, a store that no daemon has open, or files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple

from trailhound.backtesting import Piece
from trailhound.checking import RECEIVED_NS
from trailhound.client import Client
from trailhound.clock import SystemClock, rfc3339_ns
from trailhound.collector.api.problems import Problem
from trailhound.collector.api.query import parse
from trailhound.collector.decode.encode import encode_request
from trailhound.collector.rebuild import grouped, logs_request, stored_of
from trailhound.collector.store import open_store
from trailhound.collector.store.base import RUN_FILTERS, Listing, Store
from trailhound.config import Config
from trailhound.errors import Invalid
from trailhound.metrics import Metrics
from trailhound.model import Record, Run
from trailhound.occupancy import Occupancy
from trailhound.recordings import Body, Skipped, files, read

PAGE = 500
TRACES_AT_ONCE, STEPS_AT_ONCE = 100, 5_000
"""Traces and steps of stored runs that are fetched at once: a query costs the same for one run and for a hundred."""


class Listed(NamedTuple):
    """A stored run whose spans are fetched later; runs sort by their end."""

    ended_ns: int
    tenant: str
    trajectory_id: str
    trace_ids: tuple[str, ...]
    steps: int


class DaemonHistory:
    """The runs that a daemon has stored, oldest end first, fetched page by page when their turn comes."""

    def __init__(self, client: Client, limit: int, filters: Mapping[str, str | None]) -> None:
        runs = client.items("trajectories", limit, filters)
        self._runs = sorted(
            Listed(_end(r), r["tenant"], r["trajectory_id"], tuple(r["trace_ids"]), r["totals"]["steps"]) for r in runs
        )
        self._client = client

    def __len__(self) -> int:
        return len(self._runs)

    def pieces(self) -> Iterator[Piece]:
        for page in pages(self._runs):
            asked = [trace_id for run in page for trace_id in run.trace_ids]
            found: dict[str, tuple[bytes, bytes]] = {}
            for start in range(0, len(asked), TRACES_AT_ONCE):
                found |= self._client.traces(page[0].tenant, asked[start : start + TRACES_AT_ONCE])
            for run in page:
                spans, logs = (b"".join(found[trace_id][part] for trace_id in run.trace_ids) for part in (0, 1))
                yield _piece(run.tenant, spans, logs, run.ended_ns)  # empty: retention has taken it meanwhile


def pages(runs: Iterable[Listed]) -> Iterator[list[Listed]]:
    """Runs in order, so many at once as one request may ask for and a moment may bring."""
    page: list[Listed] = []
    traces = steps = 0
    for run in runs:
        traces, steps = traces + len(run.trace_ids), steps + run.steps
        if page and (run.tenant != page[0].tenant or traces > TRACES_AT_ONCE or steps > STEPS_AT_ONCE):
            yield page
            page, traces, steps = [], len(run.trace_ids), run.steps
        page.append(run)
    if page:
        yield page


def _piece(tenant: str, spans: bytes, logs: bytes, ended_ns: int) -> Piece:
    """One run: its spans, and what log records say of it. Protobuf messages are joined by joining their bytes."""
    found = (Record("traces", tenant, spans, ended_ns), Record("logs", tenant, logs, ended_ns))
    return tuple(record for record in found if record.body)


def _end(run: Mapping[str, str | None]) -> int:
    return rfc3339_ns(run["ended_at"] or run["started_at"] or "1970-01-01T00:00:00Z")


class StoreHistory:
    """The runs in a store that is opened here."""

    def __init__(self, store: Store, limit: int, asked: Mapping[str, str | None]) -> None:
        given = {name: value for name, value in asked.items() if value is not None}
        try:
            query = parse(given, RUN_FILTERS, SystemClock())
        except Problem as error:
            raise Invalid(str(error), reason="usage") from None
        listing = Listing(query.filters, query.since_ns, query.until_ns)
        self._store = store
        self._runs = sorted(
            Listed(r.ended_ns, r.tenant, r.trajectory_id, tuple(r.trace_ids), r.totals.steps)
            for r in _listed(store, limit, listing)
        )

    def __len__(self) -> int:
        return len(self._runs)

    def pieces(self) -> Iterator[Piece]:
        for page in pages(self._runs):
            spans, logs = stored_of(self._store, page[0].tenant, [each for run in page for each in run.trace_ids])
            spans_of, logs_of = grouped(spans), grouped(logs)
            for run in page:
                own = [span for trace_id in run.trace_ids for span in spans_of.get(trace_id, ())]
                said = [row for trace_id in run.trace_ids for row in logs_of.get(trace_id, ())]
                yield _piece(run.tenant, encode_request(own), logs_request(said), run.ended_ns)


@contextmanager
def opened(config: Config) -> Iterator[Store]:
    """The store of a configuration. Raises Invalid when a daemon has the data directory."""
    dsn = config.store.dsn or f"chdb://{(config.data_dir / 'store').resolve()}"
    held = Occupancy(config) if config.store.dsn is None else nullcontext()
    with held:
        store = open_store(dsn, config.retention, Metrics())
        try:
            yield store
        finally:
            store.close()


def _listed(store: Store, limit: int, listing: Listing) -> list[Run]:
    found: list[Run] = []
    after = None
    while len(found) < limit:
        page = store.list_trajectories(
            Listing(listing.filters, listing.since_ns, listing.until_ns, after, min(PAGE, limit - len(found)))
        )
        found += page
        if len(page) < PAGE:
            break
        after = (page[-1].started_ns, page[-1].trajectory_id)
    return found


class FileHistory:
    """Recorded bodies in name order; no time passes between them."""

    def __init__(self, paths: Sequence[Path], limit: int) -> None:
        self._paths = [file for path in paths for file in files(path)]
        self._limit = limit

    def __len__(self) -> int:
        return len(self._paths)

    def pieces(self) -> Iterator[Piece]:
        for path in self._paths:
            for item in read(path, self._limit):
                if isinstance(item, Skipped):
                    continue
                try:
                    body = item.protobuf(self._limit) if isinstance(item, Body) else None
                except Invalid:
                    body = None
                if body is None or not isinstance(item, Body):
                    yield ()
                else:
                    yield (Record(item.signal, "default", body, RECEIVED_NS),)
