"""The HTTP API over a view that is plain data: routes, queries, errors, headers."""

from __future__ import annotations

import base64
import http.client
import json
import threading
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from trailhound.client import Client
from trailhound.clock import ManualClock
from trailhound.collector.api.casework import Cases, Reviews
from trailhound.collector.api.norms import Baselines
from trailhound.collector.api.query import END_NS, ListQuery, Place
from trailhound.collector.api.server import ApiServer
from trailhound.collector.api.view import Document, Page
from trailhound.collector.assemble.observed import Observation
from trailhound.collector.baselines import KnownBaselines
from trailhound.collector.case_shelf import CaseShelf, HeldRuns
from trailhound.collector.exposing import Exposed
from trailhound.collector.kept_lessons import KeptLessons
from trailhound.collector.reviews.book import Book
from trailhound.collector.reviews.queue import ReviewQueue
from trailhound.collector.turn import Turn
from trailhound.collector.watch import Watch
from trailhound.config import Api, Config
from trailhound.errors import Invalid, Retryable
from trailhound.review_settings import Review


class PlainView:
    """Remembers what it was asked, answers what it was given."""

    def __init__(self) -> None:
        self.asked: list[ListQuery] = []
        self.set: list[Document] = []
        self.reasons: list[str] = []
        self.page = Page([{"trajectory_id": "t1"}], Place(5, "t1"))
        self.fault: Exception | None = None
        nowhere = Path("nowhere")
        self.reviews: Reviews = ReviewQueue(Review(), Book(nowhere / "reviews.db"), self.trajectory, ManualClock())
        config = Config.model_validate({"data_dir": nowhere})
        lessons = KeptLessons(nowhere / "baselines.db", 0)
        self.baselines: Baselines = KnownBaselines(Watch(config, lessons=lessons), Turn(), lessons, ManualClock())
        held = HeldRuns(self.trajectory, self._answer, self.reviews.one)
        self.cases: Cases = CaseShelf(nowhere, nowhere, held, [], ManualClock())

    def _answer(self, query: ListQuery) -> Page:
        if self.fault is not None:
            raise self.fault
        self.asked.append(query)
        return self.page

    trajectories = findings = sessions = alerts = _answer

    def not_ready(self) -> list[str]:
        return self.reasons

    def metrics(self, accept: str) -> Exposed:
        return Exposed(b"up 1\n", "text/plain; version=0.0.4; charset=utf-8")

    def stats(self) -> Document:
        return {"spans": 3}

    def spans(self, key: str) -> bytes | None:
        return b"spans" if key == "t1" else None

    def logs(self, key: str) -> bytes | None:
        return b"logs" if key == "t1" else None

    def traces(self, tenant: str, trace_ids: Sequence[str]) -> list[Document]:
        return [{"trace_id": each, "spans": "", "logs": ""} for each in trace_ids if tenant == "default"]

    def trajectory(self, key: str) -> Document | None:
        return {"trajectory_id": key} if key == "t1" else None

    def finding(self, finding_id: str) -> Document | None:
        return None

    alert = finding

    def silences(self) -> list[Document]:
        return list(self.set)

    def silence(self, wanted: Mapping[str, object]) -> Document:
        self.set.append({"silence_id": "s1", **wanted})
        return self.set[-1]

    def approve(self, told: Mapping[str, object]) -> Document:
        return dict(told)

    def unsilence(self, silence_id: str) -> bool:
        kept = [s for s in self.set if s["silence_id"] != silence_id]
        found, self.set = len(kept) != len(self.set), kept
        return found


Served = tuple[PlainView, str]


@pytest.fixture
def served() -> Iterator[Served]:
    view = PlainView()
    server = ApiServer(view, Api(listen="127.0.0.1:0", hosts=["trails.example"]), ManualClock())
    try:
        yield view, server.start()
    finally:
        server.stop()


def ask(
    address: str,
    path: str,
    *,
    host: str | None = None,
    method: str = "GET",
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> tuple[int, dict[str, str], Any]:
    connection = http.client.HTTPConnection(address, timeout=5)
    try:
        sent = dict(headers or {}) | ({"Host": host} if host is not None else {})
        connection.request(method, path, body, sent)
        response = connection.getresponse()
        answer, kind = response.read(), response.headers.get_content_type()
        got = {name.lower(): value for name, value in response.headers.items()}
        return response.status, got, json.loads(answer) if kind.endswith("json") else answer
    finally:
        connection.close()


def test_a_list_carries_its_items_and_where_it_goes_on(served: Served) -> None:
    view, address = served
    status, _, body = ask(address, "/api/v1/trajectories?limit=1&status=open&since=2026-01-02T03:04:05.000000006Z")
    assert (status, body["items"]) == (200, [{"trajectory_id": "t1"}])
    ask(address, f"/api/v1/trajectories?cursor={body['next_cursor']}")
    assert view.asked[0] == ListQuery(1, None, 1_767_323_045_000_000_006, filters={"status": "open"})
    assert view.asked[1].after == Place(5, "t1")


def test_many_traces_come_at_once(served: Served) -> None:
    client = Client(f"http://{served[1]}")
    assert client.traces("default", ["a", "b"]) == {"a": (b"", b""), "b": (b"", b"")}
    for wrong in ([], ["a"] * 201):
        with pytest.raises(Invalid, match="name 1 to 200 traces"):
            client.traces("default", wrong)


@pytest.mark.parametrize("what", ["spans", "logs"])
def test_what_is_stored_of_a_run_comes_as_otlp(served: Served, what: str) -> None:
    client = Client(f"http://{served[1]}")
    assert getattr(client, what)("t1") == what.encode()
    with pytest.raises(Invalid, match="trajectory or trace t2 is known"):
        getattr(client, what)("t2")


@pytest.mark.parametrize("when", ["0001-01-01T00:00:00Z", "1960-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_a_time_that_no_span_can_have_is_the_nearest_that_one_can(served: Served, when: str) -> None:
    view, address = served
    assert ask(address, f"/api/v1/trajectories?since={when}&until={when}")[0] == 200
    assert view.asked[0].since_ns == view.asked[0].until_ns == (END_NS if when > "2262" else 0)


@pytest.mark.parametrize("time_ns", [-1, END_NS, 2**64 - 1])
def test_a_cursor_at_a_time_that_no_span_can_have_is_refused(served: Served, time_ns: int) -> None:
    cursor = base64.urlsafe_b64encode(json.dumps([time_ns, "t1"]).encode()).decode().rstrip("=")
    assert ask(served[1], f"/api/v1/trajectories?cursor={cursor}")[0] == 400


def test_an_age_is_counted_back_from_now(served: Served) -> None:
    view, address = served
    ask(address, "/api/v1/findings?since=7d&until=1h")
    now = ManualClock().now_ns()
    assert (now - view.asked[0].since_ns, now - view.asked[0].until_ns) == (7 * 86400 * 10**9, 3600 * 10**9)


def test_an_incomplete_answer_says_so(served: Served) -> None:
    view, address = served
    view.page = Page([], None, "store: opening")
    assert ask(address, "/api/v1/findings")[2] == {"items": [], "next_cursor": None, "partial": "store: opening"}


@pytest.mark.parametrize(
    ("path", "status", "word"),
    [
        ("/api/v1/trajectories?colour=red", 400, "known here: cursor, limit, since, until, agent"),
        ("/api/v1/trajectories?rule=loop", 400, "unknown parameter `rule`"),
        ("/api/v1/trajectories?limit=0", 400, "1 to 1000"),
        ("/api/v1/trajectories?limit=%E0%A5%AA", 400, "1 to 1000"),
        ("/api/v1/trajectories?limit=1&limit=2", 400, "twice"),
        ("/api/v1/trajectories?cursor=!!", 400, "next_cursor"),
        ("/api/v1/trajectories?cursor=WyJhIiwgMV0", 400, "next_cursor"),
        ("/api/v1/sessions?cursor=W3RydWUsICJhIl0", 400, "next_cursor"),
        ("/api/v1/trajectories?since=yesterday", 400, "like 7d"),
        ("/api/v1/trajectories?since=2026-13-01T00:00:00Z", 400, "like 7d"),
        ("/api/v1/trajectories/unknown", 404, "no trajectory or trace"),
        ("/api/v1/findings/unknown", 404, "no finding"),
        ("/nothing", 404, "Not Found"),
    ],
)
def test_errors_are_problem_details(served: Served, path: str, status: int, word: str) -> None:
    got, headers, body = ask(served[1], path)
    assert (got, headers["content-type"], body["status"]) == (status, "application/problem+json", status)
    assert word in body["detail"]
    assert set(body) == {"type", "title", "status", "detail"}


def test_writing_is_refused(served: Served) -> None:
    status, headers, body = ask(served[1], "/api/v1/findings", method="POST")
    assert (status, headers["allow"], body["title"]) == (405, "GET,HEAD", "Method Not Allowed")


def test_what_cannot_be_known_now_is_asked_for_again(served: Served) -> None:
    view, address = served
    view.fault = Retryable("store: away")
    status, headers, body = ask(address, "/api/v1/findings")
    assert (status, headers["retry-after"], body["detail"]) == (503, "2", "store: away")


def test_a_bug_is_answered_without_its_text(served: Served) -> None:
    view, address = served
    view.fault = RuntimeError("secret")
    status, _, body = ask(address, "/api/v1/findings")
    assert status == 500
    assert "secret" not in json.dumps(body)


def test_readiness_gives_its_reasons(served: Served) -> None:
    view, address = served
    assert ask(address, "/readyz")[::2] == (200, {"ready": True, "reasons": []})
    view.reasons = ["store: opening"]
    assert ask(address, "/readyz")[::2] == (503, {"ready": False, "reasons": ["store: opening"]})
    assert ask(address, "/healthz")[::2] == (200, b"ok\n")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("localhost:4320", 200),
        ("127.0.0.1:1", 200),
        ("[::1]", 200),
        ("[::1]:4320", 200),
        ("Trails.Example", 200),
        ("evil.example", 421),
        ("localhost.evil.example:4320", 421),
        ("169.254.169.254", 421),
        ("", 421),
    ],
)
@pytest.mark.parametrize("path", ["/", "/metrics", "/api/v1/stats", "/nothing"])
def test_only_known_host_names_are_served(served: Served, host: str, status: int, path: str) -> None:
    got = ask(served[1], path, host=host)[0]
    assert got == (404 if path == "/nothing" and status == 200 else status)


@pytest.mark.parametrize("path", ["/", "/api/v1/stats", "/nothing"])
def test_every_answer_carries_the_security_headers(served: Served, path: str) -> None:
    headers = ask(served[1], path)[1]
    assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "access-control-allow-origin" not in headers


def test_the_description_names_every_route_and_filter(served: Served) -> None:
    document = ask(served[1], "/openapi.json")[2]
    assert document["openapi"].startswith("3.1")
    assert set(document["paths"]) >= {"/api/v1/trajectories/{id}", "/api/v1/findings", "/metrics", "/readyz"}
    names = {p["name"] for p in document["paths"]["/api/v1/findings"]["get"]["parameters"]}
    assert names >= {"cursor", "limit", "since", "until", "rule", "severity", "state", "scope", "tenant"}


@pytest.mark.parametrize("listen", ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "trails.example:0"])
def test_an_address_that_others_reach_is_refused_without_consent(listen: str) -> None:
    with pytest.raises(Invalid, match="allow_remote"):
        ApiServer(PlainView(), Api(listen=listen), ManualClock()).start()


def test_an_address_that_others_reach_is_served_with_consent() -> None:
    server = ApiServer(PlainView(), Api(listen="0.0.0.0:0", allow_remote=True), ManualClock())
    try:
        port = server.start().rpartition(":")[2]
        assert ask(f"127.0.0.1:{port}", "/healthz")[0] == 200
    finally:
        server.stop()


def test_a_port_in_use_is_an_error_of_one_line(served: Served) -> None:
    second = ApiServer(PlainView(), Api(listen=served[1]), ManualClock())
    with pytest.raises(Invalid, match=r"cannot listen on .*Address already in use.*api\.listen"):
        second.start()
    second.stop()


def test_stopping_twice_is_harmless_and_leaves_no_thread() -> None:
    server = ApiServer(PlainView(), Api(listen="127.0.0.1:0"), ManualClock())
    server.start()
    server.stop()
    server.stop()
    assert not [thread for thread in threading.enumerate() if thread.name == "api"]


JSON = {"Content-Type": "application/json"}


def test_a_silence_is_set_shown_and_ended(served: Served) -> None:
    _, address = served
    status, _, made = ask(address, "/api/v1/silences", method="POST", body=b'{"until": "soon"}', headers=JSON)
    assert (status, made["silence_id"]) == (201, "s1")
    assert ask(address, "/api/v1/silences")[2] == {"items": [made]}
    assert ask(address, "/api/v1/silences/s1", method="DELETE")[2] == {"items": []}
    assert ask(address, "/api/v1/silences/s1", method="DELETE")[0] == 404


@pytest.mark.parametrize(
    ("status", "body", "headers"),
    [
        (415, b"{}", {"Content-Type": "text/plain"}),
        (415, b"until=x", {"Content-Type": "application/x-www-form-urlencoded"}),
        (400, b"[1]", JSON),
        (400, b"{", JSON),
        (403, b"{}", JSON | {"Origin": "http://evil.example"}),
        (403, b"{}", JSON | {"Origin": "null"}),
        (403, b"{}", JSON | {"Sec-Fetch-Site": "cross-site"}),
    ],
)
def test_writing_is_taken_as_json_from_our_own_pages_only(
    served: Served, status: int, body: bytes, headers: dict[str, str]
) -> None:
    view, address = served
    assert ask(address, "/api/v1/silences", method="POST", body=body, headers=headers)[0] == status
    assert view.set == []


@pytest.mark.parametrize(
    ("host", "status"),
    [("10.1.2.3:4320", 200), ("[fd00::1]:4320", 200), ("evil.example", 421), ("10.evil.example", 421)],
)
def test_where_others_may_reach_it_addresses_pass_and_names_do_not(host: str, status: int) -> None:
    """Prometheus scrapes containers by address; only a name can be made to point somewhere else."""
    server = ApiServer(PlainView(), Api(listen="127.0.0.1:0", allow_remote=True), ManualClock())
    try:
        assert ask(server.start(), "/healthz", host=host)[0] == status
    finally:
        server.stop()


def test_a_baseline_is_pinned_as_json_from_our_own_pages_only(served: Served, tmp_path: Path) -> None:
    view, address = served
    lessons = KeptLessons(tmp_path / "baselines.db", 9)
    for number in range(20):
        run = Observation((number, f"r{number}"), "", (3.0, 900.0, None, 4.0, 0.0))
        lessons.learn(("default", "shop", "desk", ""), [run], [], 0)
    watch = Watch(Config.model_validate({"data_dir": tmp_path}), lessons=lessons)
    view.baselines = KnownBaselines(watch, Turn(), lessons, ManualClock())
    (item,) = ask(address, "/api/v1/baselines?agent=desk")[2]["items"]
    one = f"/api/v1/baselines/{item['baseline_id']}"
    assert ask(address, one)[2] == item
    for status, body, headers in (
        (415, b"{}", {"Content-Type": "text/plain"}),
        (403, b"{}", JSON | {"Origin": "http://evil.example"}),
        (400, b'{"why": 1}', JSON),
    ):
        assert ask(address, f"{one}/pin", method="POST", body=body, headers=headers)[0] == status
    evil = {"Origin": "http://evil.example"}
    status, _, pinned = ask(address, f"{one}/pin", method="POST", body=b"{}", headers=JSON)
    assert (status, pinned["state"]) == (201, "pinned")
    assert ask(address, f"{one}/pin", method="DELETE", headers=evil)[0] == 403
    assert ask(address, one)[2] == pinned
    assert ask(address, f"{one}/pin", method="DELETE")[2] == item
    assert ask(address, "/api/v1/baselines/none/pin", method="DELETE")[0] == 404
    lessons.close()


def test_runbooks_are_served_as_text(served: Served) -> None:
    with urllib.request.urlopen(f"http://{served[1]}/runbooks/loop", timeout=10) as answer:
        assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
        assert b"## Do" in answer.read()
    for name in ("no-such-thing", "..%2fsecrets", "%00"):
        assert ask(served[1], f"/runbooks/{name}")[0] == 404
