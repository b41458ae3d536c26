"""What every store promises; one run of this file per store (see conftest.py)."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from trailhound.collector.decode.encode import encode_log
from trailhound.collector.store import DeadLetter, Inserted, Listing, LogRow, SpanRow, Stats, Store, open_store
from trailhound.collector.store.base import MAX_NS
from trailhound.config import Retention
from trailhound.errors import Invalid
from trailhound.metrics import Metrics
from trailhound.model import Finding, InstrumentationScope, LogRecord, Resource, Run, Span, SpanEvent, SpanLink, Totals
from trailhound.testing import make_span, store_row, store_rows

CAPTURES = Path(__file__).parents[1] / "captures"
NOW = 1_790_000_100_000_000_000
TRACE = make_span().trace_id


def row(number: int = 1, attributes: dict[str, Any] | None = None, **fields: Any) -> SpanRow:
    return store_row(make_span(attributes, **{"span_id": f"{number:016x}", "received_ns": NOW, **fields}))


def loaded(store: Store, *rows: SpanRow) -> list[Span]:
    """The spans of one insert, read back."""
    assert store.insert_segment("1", rows) == Inserted(len(rows))
    return store.load_spans("default", sorted({received.span.trace_id for received, _ in rows}))


# ---------------------------------------------------------------- spans: once


def test_the_same_token_stores_once(store: Store) -> None:
    rows = [row(number) for number in range(1, 11)]
    assert store.insert_segment("7", rows) == store.insert_segment("7", rows) == Inserted(10)
    assert store.stats().spans == len(store.load_spans("default", [TRACE])) == 10


def test_one_span_under_two_tokens_is_stored_once(store: Store) -> None:
    store.insert_segment("7", [row(1), row(2)])
    store.insert_segment("8", [row(2), row(3)])
    assert store.stats().spans == 3
    assert [span.span_id[-1] for span in store.load_spans("default", [TRACE])] == ["1", "2", "3"]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_the_report_that_ends_last_is_shown(store: Store, order: tuple[int, ...]) -> None:
    reports = [
        row(name="ended", end_ns=NOW + 8, received_ns=NOW),
        row(name="ends sooner", end_ns=NOW + 7, received_ns=NOW + 1),
        row(name="open", end_ns=0, received_ns=NOW + 9),
    ]
    for token in order:
        store.insert_segment(str(token), [reports[token]])
    [span] = store.load_spans("default", [TRACE])
    assert span.name == "ended"


def test_a_span_that_stays_open_is_shown_as_last_received(store: Store) -> None:
    store.insert_segment("2", [row(name="later", end_ns=0, received_ns=NOW + 1)])
    store.insert_segment("1", [row(name="sooner", end_ns=0, received_ns=NOW)])
    [span] = store.load_spans("default", [TRACE])
    assert (span.name, span.end_ns) == ("later", 0)


def test_tenants_with_the_same_ids_never_meet(store: Store) -> None:
    store.insert_segment("1", [row(tenant="a", name="of a"), row(tenant="b", name="of b")])
    assert [span.name for span in store.load_spans("a", [TRACE])] == ["of a"]
    assert [span.name for span in store.load_spans("b", [TRACE])] == ["of b"]
    assert store.load_spans("default", [TRACE]) == []
    assert store.stats().spans == 2


def test_an_empty_segment_and_an_empty_question_are_fine(store: Store) -> None:
    assert store.insert_segment("1", []) == Inserted(0)
    assert store.load_spans("default", []) == []


# ---------------------------------------------------------------- spans: as they came


VALUES: list[Any] = [
    "", "x", "42", "true", '{"a": 1}', "line\nbreak\ttab\\ 'quote' \x00 \x1f é 🚲", "\u2028\u2029\x85",
    0, 1, -1, 2**63 - 1, -(2**63), True, False, 0.0, 0.2, 1.0, -2.5, 1e-9, 5e-324, 1.5e300, None, b"", b"\x00\xff",
    [], {}, ["stop"], [1, [2.5, {"a": [None, True]}]], {"b": {"c": "d"}, "a": ["é"]},
]  # fmt: skip


def test_attribute_values_keep_their_types(store: Store) -> None:
    rows = []
    for number, value in enumerate(VALUES):
        attributes = {"before": "text", "value": value, "after": 3, "last": "text"}
        event = SpanEvent("happened", 5, dict(attributes))
        link = SpanLink("ab" * 16, "cd" * 8, {"value": value, "text": "x"})
        resource = Resource({"service.name": "shop", "value": value})
        rows.append(row(number, attributes, events=[event, deepcopy(event)], links=[link], resource=resource))
    for value, span in zip(VALUES, loaded(store, *rows), strict=True):
        expected = {"before": "text", "value": value, "after": 3, "last": "text"}
        assert span.attributes == span.events[0].attributes == span.events[1].attributes == expected
        found = [span.attributes, span.events[0].attributes, span.links[0].attributes, span.resource.attributes]
        assert {type(attributes["value"]) for attributes in found} == {type(value)}
        assert all(attributes["value"] == value for attributes in found)


def test_a_span_comes_back_whole(store: Store) -> None:
    span = make_span(
        {"gen_ai.operation.name": "chat"},
        parent_span_id="ef" * 8,
        kind=3,
        status_code=2,
        status_message="no such order",
        flags=0x301,
        trace_state="vendor=1",
        dropped=4,
        received_ns=NOW,
        scope=InstrumentationScope("made.by", "1.2"),
        resource=Resource({"service.name": "shop"}),
    )
    received, step = store_row(span)
    received.span = deepcopy(span)
    assert loaded(store, (received, step)) == [span]


def test_hostile_times_are_stored_and_kept(store: Store) -> None:
    times = [0, 1, 10**18, 2**63 - 1, 2**63, 2**64 - 1]
    pairs = list(enumerate(product(times, times)))
    events = [[SpanEvent("x", min(start, 2**63 - 1), {})] for _, (start, _) in pairs]
    loaded(store, *(row(n, start_ns=s, end_ns=e, events=events[n]) for n, (s, e) in pairs))
    spans = {int(span.span_id, 16): span for span in store.load_spans("default", [TRACE])}
    assert {n: (spans[n].start_ns, spans[n].end_ns) for n in spans} == dict(pairs)
    assert [spans[n].events for n in sorted(spans)] == events


def test_invalid_utf8_is_replaced_when_read(store: Store) -> None:
    good = make_span({"key-XX": "text-XX"}, name="name-XX", events=[SpanEvent("event-XX", 1, {})])
    body = _request(store_row(good)[0].raw.replace(b"XX", b"\xff\xc3"), b"service-\xff\xc3")
    rows = store_rows(body, NOW)
    [span] = loaded(store, *rows)
    assert span == rows[0][0].span
    assert (span.name, span.attributes) == ("name-\ufffd\ufffd", {"key-\ufffd\ufffd": "text-\ufffd\ufffd"})
    assert span.resource.service == "service-\ufffd\ufffd"


def _request(span: bytes, service: bytes) -> bytes:
    def field(number: int, payload: bytes) -> bytes:
        assert len(payload) < 2**14
        return bytes([number << 3 | 2, len(payload) & 127 | 128, len(payload) >> 7]) + payload

    resource = field(1, field(1, b"service.name") + field(2, field(1, service)))
    return field(1, field(1, resource) + field(2, field(2, span)))


@pytest.mark.parametrize(
    "capture",
    ["openai_v2_experimental/ok", "pydantic_ai_v6/tool_error", "langgraph_openinference/approval_granted",
     "openai_agents_traceloop/multi_agent", "strands_native/ok", "google_adk_native/tool_error"],
)  # fmt: skip
def test_recorded_spans_come_back_as_they_were(store: Store, capture: str) -> None:
    bodies = sorted(path for path in (CAPTURES / capture).glob("*.pb") if not path.name.endswith(".logs.pb"))
    rows = [row for path in bodies for row in store_rows(path.read_bytes(), NOW)]
    sent = {(span.trace_id, span.span_id): span for span in (deepcopy(received.span) for received, _ in rows)}
    found = {(span.trace_id, span.span_id): span for span in loaded(store, *rows)}
    assert sent
    assert found == sent


def test_a_big_value_comes_back(store: Store) -> None:
    text = "0123456789é" * 100_000
    [span] = loaded(store, row(1, {"text": text, "nested": [text]}))
    assert span.attributes == {"text": text, "nested": [text]}


# ---------------------------------------------------------------- runs, findings, sessions


def run(number: int, **fields: Any) -> Run:
    made = Run(
        trajectory_id=f"t{number:03}",
        tenant="default",
        service="shop",
        trace_ids=[f"{number:032x}"],
        status="completed",
        started_ns=NOW + number * 10**9,
        ended_ns=NOW + number * 10**9 + 5,
    )
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def finding(number: int, **fields: Any) -> Finding:
    made = Finding(
        finding_id=f"f{number:03}",
        rule="loop",
        severity="warning",
        state="firing",
        scope="trajectory",
        tenant="default",
        service="shop",
        agent="desk",
        trajectory_id="t001",
        session_id=None,
        summary="search ran 3 times",
        expected="at most 2",
        actual="3",
        evidence=[(TRACE, "a" * 16), (TRACE, "b" * 16)],
        first_seen_ns=NOW + number,
        last_seen_ns=NOW + number + 7,
        details={"tool": "search", "count": 3, "ratio": 1.5, "nested": [None, {"a": "é"}]},
    )
    for name, value in fields.items():
        setattr(made, name, value)
    return made


FULL = run(
    1,
    status="failed",
    status_reason="root_error",
    agent="desk 'é' \\ \t",
    agents=["desk", "clerk"],
    session_id="s1",
    user_id="u1",
    task="returns",
    service_version="1.2",
    environment="prod",
    dialects=["genai"],
    input="Where is my bike?",
    output={"answer": [1, None, "é"]},
    totals=Totals(9, 4, 5, 3, 1, 1000, 200, 300, 40, 50, Decimal("0.0105"), 1, 2),
)


def test_a_run_comes_back_whole(store: Store) -> None:
    bare = run(2, ended_ns=0, status="open")
    told = run(3, totals=Totals(turns=1, input_tokens=7, output_tokens=1, cache_read_tokens=0))
    store.put_trajectories([FULL, bare, told], NOW)
    assert store.get_trajectory("t001") == FULL
    assert store.get_trajectory("t003") == told
    assert store.get_trajectory(FULL.trace_ids[0], "default") == FULL
    assert store.get_trajectory("t002") == bare
    assert store.get_trajectory("t001", "other") is None
    assert store.get_trajectory("nobody") is None


def test_many_runs_come_back_at_once(store: Store) -> None:
    runs = [run(n, started_ns=NOW + n, trace_ids=[f"{n:032x}", f"{n:031x}f"]) for n in range(6)]
    store.put_trajectories([*runs, run(9, tenant="other", trace_ids=[f"{1:032x}"])], NOW)
    keys = ["t004", f"{1:032x}", f"{3:031x}f", "t001", "nobody"]
    assert store.trajectories_of("default", keys) == [runs[1], runs[3], runs[4]]
    assert store.trajectories_of("default", []) == store.trajectories_of("nobody", keys) == []


def test_the_newest_version_of_a_run_is_shown(store: Store) -> None:
    store.put_trajectories([run(1, status="completed")], NOW + 2)
    store.put_trajectories([run(1, status="open", agent="old")], NOW + 1)
    assert [found.status for found in store.list_trajectories(Listing())] == ["completed"]
    assert store.list_trajectories(Listing({"agent": "old"})) == []
    store.put_trajectories([run(1, status="failed")], NOW + 2)
    assert [found.status for found in store.list_trajectories(Listing())] == ["failed"]
    assert store.stats().trajectories == 1


def test_a_run_that_was_joined_to_another_is_not_shown(store: Store) -> None:
    joined = run(1, session_id="s", trace_ids=["a" * 32])
    store.put_trajectories([joined, run(2, session_id="s")], at_ns=NOW)
    joined.trace_ids = []
    store.put_trajectories([joined], at_ns=NOW + 1)
    assert [r.trajectory_id for r in store.list_trajectories(Listing())] == [run(2).trajectory_id]
    assert store.get_trajectory(joined.trajectory_id) is None
    assert [session.trajectories for session in store.list_sessions(Listing())] == [1]
    assert store.stats().trajectories == 1


def test_runs_are_listed_newest_first_in_pages(store: Store) -> None:
    store.put_trajectories([run(n, started_ns=NOW + n // 2) for n in range(10)], NOW)
    seen: list[str] = []
    after = None
    while page := store.list_trajectories(Listing(after=after, limit=3)):
        assert len(page) <= 3
        seen += [found.trajectory_id for found in page]
        after = (page[-1].started_ns, page[-1].trajectory_id)
    assert seen == [f"t{n:03}" for n in reversed(range(10))]


def test_a_run_at_the_last_time_there_is_does_not_end_the_pages_early(store: Store) -> None:
    store.put_trajectories([run(1), run(2, started_ns=MAX_NS)], NOW)
    assert [found.trajectory_id for found in store.list_trajectories(Listing())] == ["t002", "t001"]
    assert [found.trajectory_id for found in store.list_trajectories(Listing(until_ns=MAX_NS))] == ["t001"]


def test_old_versions_of_many_runs_hide_no_page(store: Store) -> None:
    """Runs that had a filtered state and a later start once, and a few that have the state still, below them all."""
    for version in range(5):
        store.put_trajectories([run(n, started_ns=NOW + 10_000 + n) for n in range(100, 150)], NOW + version)
    store.put_trajectories([run(n, status="failed", started_ns=NOW + n) for n in range(100, 150)], NOW + 5)
    store.put_trajectories([run(n, started_ns=NOW + n) for n in range(1, 8)], NOW)
    standing = {"status": run(1).status}
    assert [r.started_ns - NOW for r in store.list_trajectories(Listing(standing, limit=3))] == [7, 6, 5]
    assert [r.started_ns - NOW for r in store.list_trajectories(Listing(standing, limit=50))] == [7, 6, 5, 4, 3, 2, 1]
    assert [r.started_ns - NOW for r in store.list_trajectories(Listing(limit=2))] == [149, 148]
    assert store.list_trajectories(Listing(standing, limit=0)) == []


def test_runs_are_filtered(store: Store) -> None:
    store.put_trajectories([FULL, run(2), run(3, agent="clerk")], NOW)
    for name in ("service_version", "environment", "agent", "session_id", "user_id", "status", "task"):
        assert store.list_trajectories(Listing({name: getattr(FULL, name)})) == [FULL]
    assert len(store.list_trajectories(Listing({"service": "shop", "tenant": "default"}))) == 3
    assert store.list_trajectories(Listing({"service": "' OR 1=1 --"})) == []
    times = Listing(since_ns=NOW + 2 * 10**9, until_ns=NOW + 3 * 10**9)
    assert [found.trajectory_id for found in store.list_trajectories(times)] == ["t002"]


def test_an_unknown_filter_is_refused(store: Store) -> None:
    for ask in (store.list_trajectories, store.list_findings, store.list_sessions):
        with pytest.raises(Invalid, match="no filter") as error:
            ask(Listing({"Input; DROP TABLE findings": "x"}))
        assert error.value.reason == "filter"


def test_findings_come_back_and_are_filtered(store: Store) -> None:
    other = finding(
        2, rule="budget", scope="session", session_id="s1", trajectory_id=None, agent=None, state="resolved"
    )
    store.put_findings([finding(1), other], NOW)
    assert store.list_findings(Listing()) == [other, finding(1)]
    for name in ("rule", "scope", "session_id", "state", "finding_id"):
        assert store.list_findings(Listing({name: getattr(other, name)})) == [other]
    assert store.list_findings(Listing({"trajectory_id": "t001"})) == [finding(1)]
    assert store.list_findings(Listing(after=(NOW + 2, "f002"), limit=5)) == [finding(1)]


def test_findings_of_several_runs_come_at_once(store: Store) -> None:
    store.put_findings([finding(n, trajectory_id=f"t{n % 3}") for n in range(9, 0, -1)], NOW)
    store.put_findings([finding(99, trajectory_id="t0", tenant="other")], NOW)
    found = store.findings_of("default", ["t0", "t2", "unknown"])
    assert [f.finding_id for f in found] == ["f002", "f003", "f005", "f006", "f008", "f009"]
    assert store.findings_of("default", []) == []


def test_a_finding_rises_under_its_id(store: Store) -> None:
    store.put_findings([finding(1)], NOW)
    store.put_findings([finding(1, severity="critical")], NOW + 1)
    store.put_findings([finding(1)], NOW)
    assert [found.severity for found in store.list_findings(Listing())] == ["critical"]
    assert store.stats().findings == 1


def test_sessions_sum_their_runs(store: Store) -> None:
    second = run(2, session_id="s1", status="open", agent="clerk", totals=Totals(steps=1, turns=2))
    store.put_trajectories([FULL, second, run(3), run(4, session_id="s2", agent="clerk")], NOW)
    newest, oldest = store.list_sessions(Listing())
    assert (newest.session_id, newest.trajectories, newest.totals) == ("s2", 1, Totals())
    assert (oldest.session_id, oldest.agent, oldest.user_id) == ("s1", FULL.agent, "u1")
    assert (oldest.trajectories, oldest.open) == (2, 1)
    assert (oldest.started_ns, oldest.ended_ns) == (FULL.started_ns, second.ended_ns)
    assert oldest.totals == Totals(10, 6, 5, 3, 1, 1000, 200, 300, 40, 50, Decimal("0.0105"), 1, 2)
    assert store.list_sessions(Listing(after=(newest.started_ns, "s2"))) == [oldest]
    assert [found.session_id for found in store.list_sessions(Listing({"user_id": "u1"}))] == ["s1"]


def test_a_run_without_a_start_does_not_put_its_session_into_1970(store: Store) -> None:
    store.put_trajectories([run(1, session_id="s", started_ns=0), run(2, session_id="s"), run(3, session_id="t", started_ns=0)], NOW)  # fmt: skip
    told, untold = store.list_sessions(Listing())
    assert (told.session_id, told.trajectories, told.started_ns) == ("s", 2, run(2).started_ns)
    assert (untold.session_id, untold.started_ns) == ("t", 0)


# ---------------------------------------------------------------- log records


def test_a_log_record_comes_back_as_it_was_and_once(store: Store) -> None:
    body = {"index": 0, "nested": [1, 2.5, None, True, {"text": "\u00e4"}]}
    resource, scope = Resource({"service.name": "shop"}), InstrumentationScope("events", "1")
    record = LogRecord("default", TRACE, "b" * 16, "gen_ai.choice", body, {"n": 1}, resource, scope, NOW, 9, NOW + 1)
    row = LogRow("default", TRACE, "b" * 16, "gen_ai.choice", "shop", NOW, NOW + 1, encode_log(record))
    store.put_logs([row])
    store.put_logs([row, replace(row, tenant="other")])
    [loaded] = store.load_logs("default", [TRACE])
    assert loaded == row
    assert loaded.record() == record
    assert store.load_logs("default", ["a" * 32]) == store.load_logs("default", []) == []


# ---------------------------------------------------------------- dead letters, life


def test_a_dead_letter_is_kept_once(store: Store) -> None:
    letter = DeadLetter("default", NOW, "decode", b"\x00\xff", "what was wrong: \ud800")
    store.put_dead_letters([letter])
    store.put_dead_letters([letter, DeadLetter("default", NOW, "decode", b"other")])
    assert store.stats() == Stats(0, 0, 0, 2)


def test_closing_twice_is_harmless(store: Store) -> None:
    store.close()
    store.close()


def test_an_unknown_scheme_is_refused() -> None:
    with pytest.raises(Invalid, match="unknown scheme"):
        open_store("sqlite:///x", Retention(), Metrics())
