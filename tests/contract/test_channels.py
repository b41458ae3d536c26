"""What every kind of channel promises, over real HTTP: a new one is in here as soon as its file exists."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import requests

from trailhound.alert_settings import Alerts
from trailhound.alerts.channels import channel_types, make_channels
from trailhound.alerts.channels.base import Channel
from trailhound.alerts.notice import Notice, Run
from trailhound.clock import ManualClock
from trailhound.errors import Invalid, Retryable
from trailhound.model import Alert
from trailhound.testing_sink import Sink

ALERT = Alert("a" * 32, "loop", "default", "shop", "desk", "critical", "firing", 3, ("b" * 32,), 10**18, 0)
NOTICE = Notice("c" * 32, "firing", "new", 10**18, ALERT, run=Run("b" * 32, "session-1", ("d" * 32,)))
SUMMARY = Notice("e" * 32, "summary", "budget", 10**18, held={"loop critical": 7})
STORM = Notice("f" * 32, "summary", "grew", 10**18, replace(ALERT, count=10_000), joined=9_999)
HOSTILE = "<!channel> <http://evil.example|x> @here [a](http://evil.example) \u202e`*_\x00\ud800"
URLS = {"apprise": "json://127.0.0.1:{port}/hook"}
"""How a type writes the address of the sink; the others take http."""


def made(kind: str, sink: Sink, **settings: Any) -> Channel:
    url = URLS.get(kind, "http://127.0.0.1:{port}/hook").format(port=sink.port)
    channel = {"name": "it", "type": kind, "url": url, "timeout": 2} | settings
    return make_channels(Alerts.model_validate({"channels": [channel]}), ManualClock())[0]


@pytest.fixture
def sink() -> Iterator[Sink]:
    with Sink() as listening:
        yield listening


@pytest.fixture(params=list(channel_types()))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_the_kinds_are_those_of_the_documentation() -> None:
    assert list(channel_types()) == ["alertmanager", "apprise", "stop", "webhook"]


def test_a_notice_arrives(kind: str, sink: Sink) -> None:
    made(kind, sink).deliver([NOTICE])
    assert len(sink.requests) == 1
    assert b"loop" in sink.requests[0].body


@pytest.mark.parametrize("status", [301, 302, 307, 401, 404, 429, 500, 502, 503])
def test_what_may_pass_is_worth_another_attempt(kind: str, sink: Sink, status: int) -> None:
    sink.status, sink.headers = status, {"Location": f"http://127.0.0.1:{sink.port}/elsewhere"}
    if kind == "apprise" and 300 <= status < 400:
        pytest.skip("apprise follows redirects itself")
    with pytest.raises(Retryable):
        made(kind, sink).deliver([NOTICE])
    assert [request.path for request in sink.requests].count("/elsewhere") == 0


def test_a_message_that_is_refused_is_not_tried_for_ever(kind: str, sink: Sink) -> None:
    if kind == "apprise":
        pytest.skip("apprise does not say why it failed")
    sink.status = 422
    with pytest.raises(Invalid):
        made(kind, sink).deliver([NOTICE])


def test_nobody_there_is_worth_another_attempt(kind: str) -> None:
    with Sink() as sink:
        channel = made(kind, sink)
    with pytest.raises(Retryable):
        channel.deliver([NOTICE])


def test_a_receiver_that_hangs_is_left_in_time(kind: str, sink: Sink) -> None:
    if kind == "apprise":
        pytest.skip("apprise has timeouts of its own, of 4 s and more")
    released = threading.Event()
    sink.behave = lambda: (released.wait(20), None)[1]
    channel = made(kind, sink, timeout=0.3)
    try:
        with pytest.raises(Retryable):
            channel.deliver([NOTICE])
    finally:
        released.set()


def test_errors_tell_neither_address_nor_answer(kind: str, sink: Sink) -> None:
    sink.status, sink.body = 500, b"ANSWER"
    url = URLS.get(kind, "http://127.0.0.1:{port}/hook").format(port=sink.port) + "?token=TOKEN"
    channel = made(kind, sink, url=url)
    with pytest.raises(Retryable) as error:
        channel.deliver([NOTICE])
    assert "TOKEN" not in str(error.value)
    assert "ANSWER" not in str(error.value)
    assert "TOKEN" not in repr(channel.settings.model_dump()) or channel.settings.options["url"] == url


def test_hostile_names_reach_a_chat_as_plain_words(sink: Sink) -> None:
    clean = HOSTILE.encode("utf-8", "replace").decode()
    alert = replace(ALERT, service=clean, agent=clean, tenant=clean)
    made("apprise", sink).deliver([replace(NOTICE, alert=alert, quotes=(clean,))])
    told = sink.requests[0].json()
    text = f"{told['title']} {told['message']}"
    assert not set("<>@[]|`*\x00\u202e") & set(text)
    links = {word for word in text.split() if "://" in word}
    assert all(link.startswith("http://127.0.0.1:4320/") for link in links)
    assert "evil.example" not in text


def test_alertmanager_labels_are_bounded_and_safe(sink: Sink) -> None:
    alert = replace(ALERT, service="s" * 500, agent='a"\\\n\u202e')
    made("alertmanager", sink, labels={"0 bad-name": "x\ny"}).deliver(
        [replace(NOTICE, alert=alert, lower=("warning",))]
    )
    [critical, warning] = sink.requests[0].json()
    assert sink.requests[0].path == "/hook/api/v2/alerts"
    assert critical["labels"] == {
        "_0_bad_name": "x_y", "alertname": "TrailhoundLoop", "rule": "loop", "severity": "critical",
        "tenant": "default", "service": "s" * 128, "agent": "a____",
    }  # fmt: skip
    assert warning["labels"]["severity"] == "warning"
    assert warning["endsAt"] <= critical["endsAt"]
    assert critical["generatorURL"].endswith(ALERT.alert_id)


def test_alertmanager_labels_are_no_mention_and_no_link_where_a_template_prints_them(sink: Sink) -> None:
    made("alertmanager", sink).deliver([replace(NOTICE, alert=replace(ALERT, service=HOSTILE, agent=HOSTILE))])
    assert not set("<>&") & set(sink.requests[0].body.decode())


def test_alertmanager_hears_one_word_for_one_set_of_labels(sink: Sink) -> None:
    """An alert that is over, and a new one of the same group: the first must not end the second."""
    over = replace(NOTICE, alert=replace(ALERT, state="resolved", ends_ns=10**18 + 1), lower=("warning",))
    again = replace(NOTICE, alert=replace(ALERT, severity="warning", starts_ns=10**18 + 2))
    made("alertmanager", sink).deliver([over, again])
    told = {alert["labels"]["severity"]: alert["startsAt"] for alert in sink.requests[0].json()}
    assert len(sink.requests[0].json()) == 2
    assert told["warning"] > told["critical"]


@pytest.mark.parametrize(
    ("url", "keys"),
    [
        ("pagerduty://{0}@{0}/", ["a" * 32, "a" * 32, "a" * 32]),
        ("pagerduty://{0}@{0}/?dedup=mine", ["mine", "mine", "mine"]),
    ],
)
def test_a_pager_hears_of_one_problem_under_one_key_and_that_it_is_over(
    url: str, keys: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[Any] = []

    def post(*_: Any, **words: Any) -> requests.Response:
        said.append(json.loads(words["data"]))
        answer = requests.Response()
        answer.status_code = 202
        return answer

    monkeypatch.setattr("requests.Session.request", post)
    settings = {"name": "it", "type": "apprise", "url": url.format("0123456789abcdef" * 2)}
    channel = make_channels(Alerts.model_validate({"channels": [settings]}), ManualClock())[0]
    over = replace(NOTICE, transition="resolved", alert=replace(ALERT, state="resolved", ends_ns=10**18 + 1))
    channel.deliver([NOTICE, replace(NOTICE, transition="repeat"), over])
    assert [event["dedup_key"] for event in said] == keys
    if keys[0] != "mine":
        assert [event["event_action"] for event in said] == ["trigger", "trigger", "resolve"]


def test_a_summary_is_no_alert_for_alertmanager_and_words_for_the_others(sink: Sink) -> None:
    made("alertmanager", sink).deliver([SUMMARY])
    assert sink.requests == []
    made("webhook", sink).deliver([SUMMARY])
    assert sink.requests[0].json()["held"] == {"loop critical": 7}


@pytest.mark.parametrize("kind", ["alertmanager", "apprise", "webhook"])
def test_a_storm_is_told_with_its_numbers(kind: str, sink: Sink) -> None:
    made(kind, sink).deliver([STORM])
    assert len(sink.requests) == 1
    assert b"9999 more findings" in sink.requests[0].body
    assert b"10000" in sink.requests[0].body


def test_the_same_notice_has_the_same_body_and_key_on_every_attempt(sink: Sink, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("secret\n")
    channel = made("webhook", sink, secret=f"file:{tmp_path / 'key'}")
    channel.deliver([NOTICE])
    channel.deliver([NOTICE])
    first, second = sink.requests
    assert first.body == second.body
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"] == NOTICE.notice_id


def test_a_stop_names_the_run(sink: Sink) -> None:
    made("stop", sink).deliver([NOTICE])
    wish = sink.requests[0].json()
    assert (wish["action"], wish["session_id"], wish["trajectory_id"]) == ("stop", "session-1", "b" * 32)
    assert wish["trace_ids"] == ["d" * 32]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"type": "pigeon"}, "no channel type `pigeon`; known: alertmanager, apprise, stop, webhook"),
        ({"type": "webhook"}, "`alerts.channels.0.url`"),
        ({"type": "alertmanager", "url": "http://x", "labels": {"": "y"}}, "at least 1 character"),
        ({"type": "webhook", "url": "ftp://x"}, "alerts.channels.0.url: write http://"),
        ({"type": "webhook", "url": "http://user:SECRET@x/"}, "must not carry a user name"),
        ({"type": "webhook", "url": "http://x/", "secret": "SECRET"}, "env:NAME or file:PATH"),
        ({"type": "webhook", "url": "env:NO_SUCH_THING"}, "NO_SUCH_THING"),
        ({"type": "webhook", "url": "http://x/", "colour": 1}, "`alerts.channels.0.colour` is not a setting"),
        ({"type": "apprise", "url": "SECRET"}, "apprise does not know this address"),
    ],
)
def test_wrong_settings_are_named_and_secrets_are_not(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(Invalid) as error:
        make_channels(Alerts.model_validate({"channels": [{"name": "it", **settings}]}), ManualClock())
    assert says in str(error.value)
    assert "SECRET" not in str(error.value)


@pytest.mark.parametrize(
    ("url", "resolved"),
    [
        ("http://169.254.169.254/latest", "169.254.169.254"),
        ("http://2852039166/latest", "169.254.169.254"),
        ("http://[::ffff:169.254.169.254]/", "::ffff:169.254.169.254"),
        ("http://[fe80::1]/", "fe80::1"),
        ("http://0.0.0.0/", "0.0.0.0"),
        ("http://metadata.example/", "169.254.169.254"),
        ("http://inside.example/", "10.0.0.7"),
        ("http://inside.example/", "127.0.0.1"),
    ],
)
def test_addresses_that_nobody_may_be_led_to(url: str, resolved: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (resolved, port))]

    def connect(*_: Any) -> None:
        raise AssertionError("connected")

    channel = make_channels(
        Alerts.model_validate({"channels": [{"name": "it", "type": "webhook", "url": url}]}), ManualClock()
    )[0]
    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(socket, "create_connection", connect)
    with pytest.raises(Retryable):
        channel.deliver([NOTICE])


def test_the_connection_goes_to_the_address_that_was_checked(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = ["127.0.0.1", "169.254.169.254"]

    def resolve(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        if host == "127.0.0.1":  # the connection itself, to the checked address
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, port))]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (answers.pop(0), port))]

    url = f"http://flips.example:{sink.port}/hook"
    settings = {"channels": [{"name": "it", "type": "webhook", "url": url, "allow_private": True}]}
    channel = make_channels(Alerts.model_validate(settings), ManualClock())[0]
    with monkeypatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", resolve)
        channel.deliver([NOTICE])
    assert answers == ["169.254.169.254"]
    assert len(sink.requests) == 1


def test_the_documented_verification_verifies(sink: Sink, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "alerts.md").read_text(encoding="utf-8")
    example = page.split("```python\n")[1].split("```")[0]
    names: dict[str, Any] = {}
    exec(example, names)  # noqa: S102 - our own page, which is what is tested
    names["time"] = type("Clock", (), {"time": staticmethod(lambda: ManualClock().now_ns() / 1e9)})
    (tmp_path / "key").write_text("secret")
    made("webhook", sink, secret=f"file:{tmp_path / 'key'}").deliver([NOTICE])
    [request] = sink.requests
    assert names["verified"](request.headers, request.body, b"secret")
    assert not names["verified"](request.headers, request.body + b" ", b"secret")
    assert not names["verified"](request.headers, request.body, b"other")
    names["time"] = type("Clock", (), {"time": staticmethod(lambda: ManualClock().now_ns() / 1e9 + 301)})
    assert not names["verified"](request.headers, request.body, b"secret")
