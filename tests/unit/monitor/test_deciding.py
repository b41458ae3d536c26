"""Decisions told over the API: what is refused, what becomes of the others, and that they outlive the process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trailhound.canonical import digest
from trailhound.clock import SystemClock
from trailhound.collector.assemble.filed import Call, Filed, Seen
from trailhound.collector.deciding import Deciding, decision_of, log_request
from trailhound.collector.decode import decode_logs
from trailhound.collector.dialects import read_decision
from trailhound.collector.kept_approvals import DAY_NS, KeptApprovals
from trailhound.errors import Invalid, Retryable
from trailhound.model import Approval, ApprovalVerdict, Record

NOW = 1_790_000_000 * 10**9
GIVEN: dict[str, Any] = {"decision": "approved", "tool": "refund", "arguments": {"amount": 49.0}, "session_id": "s"}


def nested(levels: int) -> Any:
    made: Any = 1
    for _ in range(levels):
        made = {"a": made}
    return made


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "`decision`"),
        (GIVEN | {"decision": "yes"}, "`decision`"),
        (GIVEN | {"colour": "red"}, "`colour` is not a setting"),
        ({"decision": "approved", "session_id": "s"}, "name the call"),
        ({"decision": "approved", "tool": "refund", "session_id": "s"}, "name the call"),
        ({"decision": "approved", "call_id": "c"}, "say where"),
        (GIVEN | {"arguments_sha256": "12"}, "`arguments_sha256`"),
        (GIVEN | {"arguments_sha256": "12" * 32}, "not that of `arguments`"),
        (GIVEN | {"arguments": nested(65)}, "deeper than 64 levels"),
        (GIVEN | {"arguments": nested(300)}, "deeper than 64 levels"),
        ({"decision": "approved", "call_id": "c", "trace_id": "0" * 32}, "say where"),
    ],
)
def test_what_cannot_be_meant_is_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(Invalid, match=says):
        decision_of(given)


@pytest.mark.parametrize(
    ("when", "says"),
    [("yesterday", "must be a time"), ("2126-01-01T00:00:00Z", "future"), ("1600-01-01T00:00:00Z", "before 1970")],
)
def test_a_time_that_cannot_be_is_refused(when: str, says: str) -> None:
    with pytest.raises(Invalid, match=says):
        log_request(decision_of(GIVEN | {"decided_at": when}), NOW)


def test_a_decision_becomes_a_record_that_the_reader_of_the_convention_understands() -> None:
    body, decided_ns = log_request(decision_of(GIVEN | {"actor_id": "anna", "trace_id": "ab" * 16}), NOW)
    [record] = decode_logs(Record("logs", "default", body, NOW))
    step = read_decision(record)
    assert step is not None
    [found] = step.approvals
    assert (found.decision, found.tool, found.arguments_hash) == ("approved", "refund", digest({"amount": 49}))
    assert (found.actor, found.actor_id, found.service, found.decided_ns) == ("human", "anna", "approvals-api", NOW)
    assert (step.session_id, step.trace_id, decided_ns) == ("s", "ab" * 16, NOW)


def test_arguments_and_their_hash_may_both_be_given_and_nest_as_deep_as_a_call_may() -> None:
    deep = nested(64)
    given = GIVEN | {"arguments": deep, "arguments_sha256": digest(deep).upper(), "trace_id": "0" * 32}
    [record] = decode_logs(Record("logs", "default", log_request(decision_of(given), NOW)[0], NOW))
    step = read_decision(record)
    assert step is not None
    assert step.approvals[0].arguments_hash == digest(deep)


def test_without_a_receiver_it_is_to_be_told_again(tmp_path: Path) -> None:
    (tmp_path / "receiver.http").write_text("127.0.0.1:9")
    for address in ("receiver.http", "none"):
        with pytest.raises(Retryable, match="cannot be reached"):
            Deciding(tmp_path / address, SystemClock()).record(GIVEN)


# ---------------------------------------------------------------- on disk


def filed(key: str = "a", segment: int = 1, at_ns: int = NOW, **fields: Any) -> Filed:
    told = (Approval("approved", tool="refund", call_id="c", decided_ns=at_ns, turn=0),)
    return Filed(("t", "trace", key), (("t", "session:s"),), at_ns, told, segment=segment, **fields)


def kept(directory: Path, *all_filed: Filed) -> None:
    keeper = KeptApprovals(directory, 3600, 0)
    for each in all_filed:
        keeper.add(each)
    keeper.write()


def test_what_was_filed_before_the_replay_comes_back_as_it_was(tmp_path: Path) -> None:
    call = Call(("t", "trace", "b", ""), "refund", "c", "hash", NOW)
    ran = Filed(
        call.key, (("t", "session:s"),), NOW, call=call, verdict=ApprovalVerdict("missing"), seen=Seen(True), segment=2
    )
    kept(tmp_path, filed(), ran, filed("late", segment=7))
    assert KeptApprovals(tmp_path, 3600, 7).load() == [filed(), ran]
    assert KeptApprovals(tmp_path, 3600, 1).load() == []


def test_the_last_word_counts_with_the_segment_of_the_first(tmp_path: Path) -> None:
    kept(tmp_path, filed(segment=1))
    kept(tmp_path, Filed(filed().key, (), NOW, (), segment=9))
    assert KeptApprovals(tmp_path, 3600, 5).load() == []  # it was taken back
    kept(tmp_path, filed(segment=9))
    assert KeptApprovals(tmp_path, 3600, 5).load() == [filed(segment=1)]


def test_a_torn_line_is_passed_over_and_written_on_after(tmp_path: Path) -> None:
    kept(tmp_path, filed())
    [path] = tmp_path.iterdir()
    path.write_bytes(path.read_bytes() + b'{"key": ["t"')
    kept(tmp_path, filed("b"))
    assert [f.key[2] for f in KeptApprovals(tmp_path, 3600, 5).load()] == ["a", "b"]


def test_files_older_than_decisions_are_good_for_go(tmp_path: Path) -> None:
    kept(tmp_path, filed(at_ns=NOW))
    kept(tmp_path, filed("b", at_ns=NOW + 3 * DAY_NS))
    assert [f.key[2] for f in KeptApprovals(tmp_path, 3600, 5).load()] == ["b"]


@pytest.mark.parametrize("line", [b"null", b"3", b"[1,2", b'{"a": 1}', b'{"key": ["a"], "call": 3}', b'{"key": ["a"], "segment": "x"}', b"\xff"])  # fmt: skip
def test_a_line_of_kept_decisions_that_is_none_is_passed_over(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "approvals-000001.jsonl").write_bytes(line + b"\n")
    assert KeptApprovals(tmp_path, 3600, 1).load() == []
