"""The table of what clients are told, spelled out: a wrong code here is data loss in every exporter."""

from __future__ import annotations

import json

import pytest
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]

from trailhound.collector.receive.status import BY_REASON, OUTCOMES, Refusal
from trailhound.errors import Invalid, Retryable

RETRIED_BY_EXPORTERS = {"code": {14}, "http": {429, 503}}

TABLE = [
    # error, outcome, google.rpc.Code, HTTP status, told to come again
    (Retryable("journal full"), "retry", 14, 503, True),
    (RuntimeError("bug"), "unexpected", 14, 503, True),
    (OSError(28, "No space left on device"), "unexpected", 14, 503, True),
    (MemoryError(), "unexpected", 14, 503, True),
    (Invalid("x", reason="bad_protobuf"), "invalid", 3, 400, False),
    (Invalid("x", reason="bad_json"), "invalid", 3, 400, False),
    (Invalid("x", reason="bad_compression"), "invalid", 3, 400, False),
    (Invalid("x", reason="bad_http"), "invalid", 3, 400, False),
    (Invalid("x", reason="wrong_signal"), "invalid", 3, 400, False),
    (Invalid("x", reason="too_deep"), "invalid", 3, 400, False),
    (Invalid("x", reason="too_many_items"), "invalid", 3, 400, False),
    (Invalid("x", reason="too_large"), "too_large", 8, 413, False),
    (Invalid("x", reason="unsupported_type"), "unsupported_type", 3, 415, False),
    (Invalid("x", reason="unsupported_coding"), "unsupported_coding", 3, 415, False),
    (Invalid("x", reason="unknown_path"), "unknown_path", 12, 404, False),
    (Invalid("x", reason="not_post"), "not_post", 12, 405, False),
    (Invalid("x", reason="foreign_origin"), "foreign_origin", 7, 403, False),
    (Invalid("x", reason="foreign_host"), "foreign_host", 7, 421, False),
]


@pytest.mark.parametrize(("error", "word", "code", "http", "retry"), TABLE, ids=lambda v: repr(v))
def test_each_error_has_one_answer_on_both_protocols(
    error: Exception, word: str, code: int, http: int, retry: bool
) -> None:
    refusal = Refusal.of(error)
    outcome = refusal.outcome
    assert (outcome.word, outcome.code, outcome.http, outcome.retry) == (word, code, http, retry)
    assert refusal.headers() == ({"Retry-After": "2"} if retry else {})
    assert bool(refusal.trailers()) == retry


def test_only_what_may_be_retried_uses_the_codes_that_exporters_retry() -> None:
    for outcome in OUTCOMES:
        assert (outcome.code in RETRIED_BY_EXPORTERS["code"]) == outcome.retry
        assert (outcome.http in RETRIED_BY_EXPORTERS["http"]) == outcome.retry
        assert outcome.http != 500
        assert outcome.code not in (2, 13)  # UNKNOWN, INTERNAL


def test_the_table_of_this_test_is_complete() -> None:
    assert {word for _, word, *_ in TABLE} | {"accepted", "partial"} == {outcome.word for outcome in OUTCOMES}
    assert set(BY_REASON) <= {outcome.word for outcome in OUTCOMES}


def test_grpc_gets_the_hint_in_both_forms() -> None:
    trailers = dict(Refusal.of(Retryable("full")).trailers())
    assert set(trailers) == {"grpc-status-details-bin", "google.rpc.retryinfo-bin"}
    status = status_pb2.Status.FromString(trailers["grpc-status-details-bin"])
    assert (status.code, status.message) == (14, "full")
    hint = error_details_pb2.RetryInfo()
    assert status.details[0].Unpack(hint)
    assert hint.retry_delay.ToMilliseconds() == 1900
    assert error_details_pb2.RetryInfo.FromString(trailers["google.rpc.retryinfo-bin"]) == hint


def test_the_wait_can_be_chosen_by_who_refuses() -> None:
    refusal = Refusal.of(Retryable("full", retry_after_s=4.5))
    assert refusal.headers() == {"Retry-After": "5"}
    hint = error_details_pb2.RetryInfo.FromString(dict(refusal.trailers())["google.rpc.retryinfo-bin"])
    assert hint.retry_delay.ToMilliseconds() == 4400


def test_bodies_are_rpc_status_in_both_encodings() -> None:
    refusal = Refusal.of(Invalid("no OTLP", reason="bad_protobuf"))
    assert status_pb2.Status.FromString(refusal.body("protobuf")) == status_pb2.Status(code=3, message="no OTLP")
    assert json.loads(refusal.body("json")) == {"code": 3, "message": "no OTLP"}
    retried = json.loads(Refusal.of(Retryable("full")).body("json"))
    assert retried["details"][0]["retryDelay"] == "1.900s"


def test_our_own_faults_are_not_described() -> None:
    refusal = Refusal.of(RuntimeError("secret /path/to/x"))
    assert "secret" not in refusal.message


def test_a_message_from_the_input_cannot_break_the_answer() -> None:
    refusal = Refusal.of(Invalid("bad \ud800 \r\n\x00 " + "x" * 10_000))
    assert len(refusal.message) <= 500
    assert refusal.message.isprintable()
    assert refusal.body("protobuf")
    assert json.loads(refusal.body("json"))["message"] == refusal.message
