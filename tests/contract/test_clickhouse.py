"""What only the stores in ClickHouse do: refused rows, faults, migrations, retention, columns for dashboards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest
from clickhouse_connect.driver.exceptions import DatabaseError, DataError, OperationalError

from trailhound.collector.store import Inserted, Listing, SpanRow, open_store, paging
from trailhound.collector.store.clickhouse import ClickHouseStore
from trailhound.collector.store.connection import Connection
from trailhound.collector.store.faults import classify
from trailhound.collector.store.migrate import FOREVER_S, migrations
from trailhound.collector.store.rows import RowEncoder
from trailhound.collector.store.segments import SegmentWriter
from trailhound.config import Retention
from trailhound.errors import Invalid, Retryable
from trailhound.metrics import Metrics
from trailhound.model import Failure, Model, Run, RunStatus, SpanEvent, ToolCall, Totals, Usage
from trailhound.testing import make_span, store_row

NOW = 1_790_000_100_000_000_000
TRACE = make_span().trace_id
KEPT = Retention(spans=1e10, trajectories=1e10, findings=1e10)
GARBAGE = [
    b"\xff\xff",  # a tag that does not end
    b"\x0a\x7f",  # a field longer than the message
    b"\x32\x01x",  # `kind` as text
    b"\x4b\x4c",  # a group
    b"\x4a\x03\x0a\x01a\xff",  # an attribute that is cut off
]
"""What may stand behind an honest span and confuse a reader."""


@pytest.fixture
def store(chdb_dsn: str) -> Iterator[ClickHouseStore]:
    made = ClickHouseStore(chdb_dsn, KEPT, Metrics())
    made.open()
    yield made
    made.close()


@pytest.fixture
def database(chdb_dsn: str, store: ClickHouseStore) -> Iterator[Connection]:
    """A look into the database of `store`."""
    connection = Connection(chdb_dsn)
    connection.open()
    yield connection
    connection.close()


def row(number: int, attributes: dict[str, Any] | None = None, **fields: Any) -> SpanRow:
    return store_row(make_span(attributes, **{"span_id": f"{number:016x}", "received_ns": NOW, **fields}))


# ---------------------------------------------------------------- refused rows


@pytest.mark.parametrize("raw", GARBAGE, ids=bytes.hex)
def test_a_span_whose_bytes_are_refused_is_written_anew(store: ClickHouseStore, raw: bytes) -> None:
    rows = [row(number) for number in range(1, 21)]
    rows[7][0].raw += raw
    assert store.insert_segment("5", rows) == Inserted(20)
    assert store.insert_segment("5", rows) == Inserted(20)
    assert len(store.load_spans("default", [TRACE])) == 20


def test_a_poison_row_becomes_a_dead_letter(
    store: ClickHouseStore, database: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RowEncoder, "rewritten", lambda *_: (b"\x02", b"\xff\xff", b""))
    rows = [row(number) for number in range(1, 1001)]
    rows[700][0].raw = b"\xff\xff"  # no span at all
    for _ in range(2):
        assert store.insert_segment("5", rows) == Inserted(999, dead=1)
        assert store.insert_segment("6", rows[:3]) == Inserted(3)
        stats = store.stats()
        assert (stats.spans, stats.dead_letter) == (999, 1)
    [letter] = database.fetch(
        "SELECT Reason, Signal, TraceId, SpanId, base64Decode(Raw) = unhex('ffff') FROM dead_letter FINAL"
    )
    assert letter == ["insert", "traces", TRACE, f"{701:016x}", 1]


def test_every_row_is_written_once_whatever_the_token(store: ClickHouseStore, database: Connection) -> None:
    rows = [row(number) for number in range(1, 101)]
    for _ in range(3):
        store.insert_segment("5", rows)
    assert database.fetch("SELECT count() FROM otel_traces") == [[100]]


@pytest.mark.parametrize("token", ["", "a b", "1'; DROP TABLE otel_traces", "../1", "x" * 101])
def test_a_token_is_a_plain_word(store: ClickHouseStore, token: str) -> None:
    with pytest.raises(Invalid, match="token"):
        store.insert_segment(token, [row(1)])


def test_spans_received_on_many_days_go_into_one_segment(store: ClickHouseStore) -> None:
    """A segment spans two days at most, but the times of its spans may be anything."""
    rows = [row(n, start_ns=n * 86400 * 10**9, end_ns=0, received_ns=NOW + n * 3600 * 10**9) for n in range(1, 400)]
    assert store.insert_segment("1", rows) == Inserted(399)
    assert store.stats().spans == 399


def test_threads_may_read_while_another_inserts(store: ClickHouseStore) -> None:
    def read() -> None:
        for _ in range(5):
            store.load_spans("default", [TRACE])
            store.stats()

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        for token in range(5):
            store.insert_segment(str(token), [row(token * 100 + n) for n in range(1, 100)])
        for reader in readers:
            reader.result()
    assert store.stats().spans == 495


# ---------------------------------------------------------------- columns


def test_the_columns_of_the_collectors_exporter_are_there(database: Connection) -> None:
    """Names and types from opentelemetry-collector-contrib exporter/clickhouseexporter, traces table; names that come from
    outside are String instead of LowCardinality(String), which reads the same."""
    types = dict(
        database.fetch(
            "SELECT name, type FROM system.columns WHERE database = currentDatabase() AND table = 'otel_traces'"
        )
    )
    attributes = "Map(LowCardinality(String), String)"
    expected = {
        "Timestamp": "DateTime64(9)", "TraceId": "String", "SpanId": "String", "ParentSpanId": "String",
        "TraceState": "String", "SpanName": "String", "SpanKind": "LowCardinality(String)", "ServiceName": "String",
        "ResourceAttributes": attributes, "ScopeName": "String", "ScopeVersion": "String", "SpanAttributes": attributes,
        "Duration": "UInt64", "StatusCode": "LowCardinality(String)", "StatusMessage": "String",
        "Events.Timestamp": "Array(DateTime64(9))", "Events.Name": "Array(String)",
        "Events.Attributes": f"Array({attributes})", "Links.TraceId": "Array(String)", "Links.SpanId": "Array(String)",
        "Links.TraceState": "Array(String)", "Links.Attributes": f"Array({attributes})",
    }  # fmt: skip
    assert {name: types.get(name) for name in expected} == expected


def test_a_dashboard_reads_values_as_the_exporter_writes_them(store: ClickHouseStore, database: Connection) -> None:
    attributes = {
        "s": "x",
        "i": 7,
        "b": True,
        "d": 0.5,
        "whole": 2.0,
        "l": ["a", 1],
        "m": {"k": None},
        "y": b"\x00\xff",
    }
    span = make_span(attributes, kind=3, status_code=2, events=[SpanEvent("e", 1, {"i": 1, "s": "x"})], received_ns=NOW)
    store.insert_segment("1", [store_row(span)])
    [found] = database.fetch(
        "SELECT SpanKind, StatusCode, Duration, SpanAttributes, `Events.Attributes`, ServiceName, toString(Timestamp) FROM otel_traces"
    )
    texts = {"s": "x", "i": "7", "b": "true", "d": "0.5", "whole": "2", "l": '["a",1]', "m": '{"k":null}', "y": "AP8="}
    assert found[:5] == ["Client", "Error", 10**9, texts, [{"i": "1", "s": "x"}]]
    assert found[5:] == ["unknown_service", "2026-09-21 14:13:20.000000000"]


def test_a_step_fills_its_columns(store: ClickHouseStore, database: Connection) -> None:
    known: dict[str, Any] = {
        "kind": "tool", "status": "error", "agent": "desk", "session_id": "s", "user_id": "u", "task": "returns",
        "tool": ToolCall("search", "call_1"), "model": Model("openai", "gpt", "gpt-1"), "error": Failure("Timeout"),
        "usage": Usage(10, 0, None, 2**64, 3), "cost_usd": Decimal("0.0000105"),
    }  # fmt: skip
    store.insert_segment("1", [store_row(make_span(span_id="1" * 16, received_ns=NOW), **known)])
    columns = (
        "StepKind, StepStatus, Agent, SessionId, UserId, Task, ToolName, Provider, RequestModel, ResponseModel, ErrorType, "
        "InputTokens, OutputTokens, CacheReadTokens, CacheWriteTokens, ReasoningTokens, toString(CostUsd), Segment"
    )
    [found] = database.fetch(f"SELECT {columns} FROM otel_traces")
    assert found[:11] == ["tool", "error", "desk", "s", "u", "returns", "search", "openai", "gpt", "gpt-1", "Timeout"]
    assert found[11:] == [10, 0, None, None, 3, "0.0000105", "1"]


@pytest.mark.parametrize("cost", ["NaN", "Infinity", "1e30", "-1e30"])
def test_a_hostile_cost_is_unknown(store: ClickHouseStore, database: Connection, cost: str) -> None:
    assert store.insert_segment("1", [store_row(make_span(received_ns=NOW), cost_usd=Decimal(cost))]) == Inserted(1)
    assert database.fetch("SELECT CostUsd FROM otel_traces") == [[None]]


# ---------------------------------------------------------------- schema


def test_migrations_are_numbered_without_gaps() -> None:
    assert [number for number, _, _ in migrations()] == list(range(1, len(migrations()) + 1))


def test_opening_again_changes_nothing(store: ClickHouseStore, chdb_dsn: str, database: Connection) -> None:
    store.insert_segment("1", [row(1)])
    open_store(chdb_dsn, KEPT, Metrics()).close()
    assert store.stats().spans == 1
    assert len(database.fetch("SELECT * FROM schema_version")) == len(migrations())


def test_a_half_done_migration_is_finished(store: ClickHouseStore, chdb_dsn: str, database: Connection) -> None:
    database.command("TRUNCATE TABLE schema_version")
    database.command("DROP TABLE findings")
    open_store(chdb_dsn, KEPT, Metrics()).close()
    assert store.stats().findings == 0


def test_totals_of_older_versions_that_were_0_become_unknown(
    store: ClickHouseStore, chdb_dsn: str, database: Connection
) -> None:
    database.command("DROP TABLE trajectories SYNC")
    for statement in next(statements for number, _, statements in migrations() if number == 2):
        database.command(statement)
    database.command("ALTER TABLE schema_version DELETE WHERE version >= 5 SETTINGS mutations_sync = 1")
    database.insert(
        "trajectories",
        [{"TrajectoryId": "old", "TraceIds": ["a"], "Turns": 2, "InputTokens": 9, "Input": "1", "Output": "2"}],
    )
    open_store(chdb_dsn, KEPT, Metrics()).close()
    old = store.get_trajectory("old")
    assert old is not None
    assert old.totals == Totals(turns=2, input_tokens=9)


def test_a_newer_schema_is_left_alone(store: ClickHouseStore, chdb_dsn: str, database: Connection) -> None:
    database.insert("schema_version", [{"version": 999, "name": "from_the_future"}])
    with pytest.raises(Invalid, match="version 999") as error:
        open_store(chdb_dsn, KEPT, Metrics())
    assert error.value.reason == "schema"


def test_retention_follows_the_configuration(chdb_dsn: str, store: ClickHouseStore, database: Connection) -> None:
    def ttl() -> str:
        [[created]] = database.fetch(
            "SELECT create_table_query FROM system.tables WHERE name = 'otel_traces' AND database = currentDatabase()"
        )
        return str(created)

    assert " TTL " not in ttl()
    open_store(chdb_dsn, Retention(spans=86400), Metrics()).close()
    assert "TTL toDateTime(ReceivedAt) + toIntervalSecond(86400)" in ttl()
    store.insert_segment("1", [row(1)])  # received long ago
    database.command("OPTIMIZE TABLE otel_traces FINAL")
    assert store.stats().spans == 0
    open_store(chdb_dsn, Retention(spans=FOREVER_S + 1), Metrics()).close()
    assert " TTL " not in ttl()


# ---------------------------------------------------------------- faults


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        *(
            (DatabaseError("x", code=code), Retryable)
            for code in (159, 209, 210, 241, 242, 319, 243, 60, 16, 497, None)
        ),
        (DatabaseError("Too many parts (3000)", code=252), Retryable),
        (DatabaseError("Too many partitions for single INSERT block", code=252), Invalid),
        *((DatabaseError("x", code=code), Invalid) for code in (6, 27, 32, 33, 53, 69, 117, 407, 444)),
        (DataError("does not fit"), Invalid),
        (OperationalError("connection reset"), Retryable),
        (ConnectionRefusedError(), Retryable),
        (OSError(28, "No space left on device"), Retryable),
    ],
)
def test_errors_are_classified(error: Exception, kind: type[Exception]) -> None:
    assert type(classify(error)) is kind


def test_a_closed_store_asks_to_try_again(store: ClickHouseStore) -> None:
    store.close()
    for use in (lambda: store.insert_segment("1", [row(1)]), store.stats):
        with pytest.raises(Retryable, match="not open"):
            use()


def test_a_failure_is_counted(chdb_dsn: str) -> None:
    metrics = Metrics()
    store = ClickHouseStore(chdb_dsn, KEPT, metrics)
    with pytest.raises(Retryable):
        store.stats()
    assert metrics.registry.get_sample_value("trailhound_store_errors_total", {"operation": "read"}) == 1


def test_a_server_that_is_away_asks_to_try_again() -> None:
    with pytest.raises(Retryable):
        open_store("clickhouse://127.0.0.1:1/x", KEPT, Metrics())


@pytest.mark.parametrize("dsn", ["chdb:///x?database=a.b", "clickhouse://host/a-b", "clickhouse://host/;drop"])
def test_a_strange_database_name_is_refused(dsn: str) -> None:
    with pytest.raises(Invalid, match="database name"):
        ClickHouseStore(dsn, KEPT, Metrics())


class Client:
    """Stands for the driver's client of a server: keeps what it is told, raises what `refuse` says of an INSERT."""

    def __init__(self) -> None:
        self.commands: list[tuple[str, dict[str, Any]]] = []
        self.refuse: Callable[[bytes], Exception | None] = lambda _: None

    def command(self, sql: str, **options: Any) -> None:
        refusal = self.refuse(options["data"]) if options.get("data") else None
        if refusal is not None:
            raise refusal
        self.commands.append((sql, options))

    def close(self) -> None:
        """Nothing to close."""


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Client:
    made = Client()
    monkeypatch.setattr(Connection, "_connect", lambda *_: made)
    return made


@pytest.fixture
def writer(client: Client) -> SegmentWriter:
    connection = Connection("clickhouse://user:secret@host/db")
    connection.open()
    return SegmentWriter(connection)


def test_a_server_is_sent_the_rows_with_their_schema_and_token(writer: SegmentWriter, client: Client) -> None:
    rows = [row(1), row(2)]
    assert writer.insert("9", rows) == (Inserted(2), [])
    sql, options = client.commands[-1]
    encoder = RowEncoder()
    assert options["data"] == b"".join(piece for each in rows for piece in encoder.row(*each))
    assert options["parameters"] == {"token": "9"}
    assert options["settings"]["insert_deduplication_token"] == "9"
    assert options["settings"]["format_schema"].startswith('syntax = "proto3"')
    assert "FROM input('trace_id String" in sql
    assert sql.endswith("FORMAT Protobuf")


def test_a_server_that_refuses_one_row_gets_the_others_under_derived_tokens(
    writer: SegmentWriter, client: Client
) -> None:
    rows = [row(n) for n in range(1, 9)]
    bad = bytes.fromhex(rows[5][0].span.span_id)
    client.refuse = lambda data: DatabaseError("cannot parse", code=444) if bad in data else None
    inserted, [letter] = writer.insert("9", rows)
    assert (inserted, letter.span_id, letter.raw) == (Inserted(7, 1), f"{6:016x}", rows[5][0].raw)
    tokens = [options["parameters"]["token"] for sql, options in client.commands if "otel_traces" in sql]
    assert tokens == ["9.0", "9.1.0.0", "9.1.1"]


def test_a_span_that_cannot_be_encoded_is_set_aside_alone(
    store: ClickHouseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode = RowEncoder.row

    def failing(self: RowEncoder, received: Any, step: Any) -> Any:
        if received.span.span_id == f"{2:016x}":
            raise OverflowError("nobody foresaw it")
        return encode(self, received, step)

    monkeypatch.setattr(RowEncoder, "row", failing)
    assert store.insert_segment("9", [row(1), row(2), row(3)]) == Inserted(2, 1)
    assert store.insert_segment("10", [row(2)]) == Inserted(0, 1)
    assert (store.stats().spans, store.stats().dead_letter) == (2, 1)


@pytest.mark.parametrize("turns", [2**70, "many"])
def test_a_run_that_cannot_be_written_is_left_out_alone(chdb_dsn: str, turns: Any) -> None:
    """Python's JSON, or the column, has no place for it."""
    metrics = Metrics()
    store = ClickHouseStore(chdb_dsn, KEPT, metrics)
    store.open()
    runs = [
        Run(f"{n:032x}", "default", "shop", [f"{n:032x}"], totals=Totals(turns=turns if n == 3 else n))
        for n in range(5)
    ]
    store.put_trajectories(runs, NOW)
    assert sorted(run.totals.turns for run in store.list_trajectories(Listing())) == [0, 1, 2, 4]
    left_out = {"operation": "row"}
    assert metrics.registry.get_sample_value("trailhound_store_errors_total", left_out) == 1
    store.close()


@pytest.mark.parametrize("error", [DatabaseError("memory", code=241), OperationalError("reset"), OSError(104, "reset")])
def test_a_fault_of_the_server_splits_nothing(writer: SegmentWriter, client: Client, error: Exception) -> None:
    client.refuse = lambda _: error
    with pytest.raises(Retryable):
        writer.insert("9", [row(1), row(2)])
    client.refuse = lambda _: None
    assert writer.insert("9", [row(1), row(2)]) == (Inserted(2), [])
    assert [options["parameters"]["token"] for sql, options in client.commands if "otel_traces" in sql] == ["9"]


@pytest.mark.parametrize("path", ["/data/*", "/data/{a,b}", "/it's"])
def test_a_path_that_clickhouse_reads_as_a_pattern_is_refused(path: str) -> None:
    with pytest.raises(Invalid, match="path"):
        ClickHouseStore(f"chdb://{path}", KEPT, Metrics())


def test_a_store_that_cannot_open_lets_go_of_its_directory(
    chdb_dsn: str, store: ClickHouseStore, database: Connection
) -> None:
    database.insert("schema_version", [{"version": 999, "name": "from_the_future"}])
    with pytest.raises(Invalid):
        open_store(chdb_dsn, KEPT, Metrics())
    database.command("TRUNCATE TABLE schema_version")
    open_store(chdb_dsn, KEPT, Metrics()).close()


# ---------------------------------------------------------------- pages


@pytest.mark.parametrize("most", [0, 4000])
def test_a_page_is_the_same_by_versions_and_by_the_merged_table(
    store: ClickHouseStore, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(paging, "MOST", most)
    for at_ns in range(3):
        store.put_trajectories([_run(number, at_ns) for number in range(200)], NOW + at_ns)
    page = store.list_trajectories(Listing({"status": "open"}, limit=4))
    assert [run.trajectory_id for run in page] == [_run(n, 0).trajectory_id for n in (198, 195, 192, 189)]
    last = (page[-1].started_ns, page[-1].trajectory_id)
    assert store.list_trajectories(Listing({"status": "open"}, after=last, limit=1))[0].started_ns == last[0] - 3


def _run(number: int, at_ns: int) -> Run:
    status: RunStatus = "open" if at_ns < 2 or number % 3 == 0 else "completed"
    return Run(f"{number:032x}", "default", "shop", [f"{number:032x}"], status=status, started_ns=NOW + number)
