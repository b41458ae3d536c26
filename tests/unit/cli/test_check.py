"""`trailhound check`: which files are read, what is said about the others, and the exit code."""

from __future__ import annotations

import base64
import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import zstandard
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from trailhound.errors import Invalid
from trailhound.recordings import Body, Broken, Skipped, files, read

CAPTURES = Path(__file__).parents[2] / "captures"
LOOP = CAPTURES / "pydantic_ai_v5" / "loop"
LIMIT = 64 * 2**20


def bodies() -> list[Path]:
    return sorted(LOOP.glob("*.pb"))


def as_json(path: Path) -> str:
    """OTLP/JSON of a body: ids in hex, as the OTLP specification wants it."""
    request = ExportTraceServiceRequest.FromString(path.read_bytes())
    document = json_format.MessageToDict(request)
    for group in document["resourceSpans"]:
        for scope in group["scopeSpans"]:
            for span in scope["spans"]:
                for key in ("traceId", "spanId", "parentSpanId"):
                    if span.get(key):
                        span[key] = base64.b64decode(span[key]).hex()
    return json.dumps(document)


def judged(trailhound: Any, *args: object) -> dict[str, Any]:
    result = trailhound("check", *args, "--format", "json")
    assert result.code in (0, 1), result.err
    answer: dict[str, Any] = json.loads(result.out)
    return answer


@pytest.fixture
def truth(trailhound: Any) -> dict[str, Any]:
    return judged(trailhound, LOOP)


def test_a_loop_is_found_and_the_exit_code_says_so(trailhound: Any) -> None:
    result = trailhound("check", LOOP, "--format", "json")
    answer = json.loads(result.out)
    assert result.code == 1
    assert [f["rule"] for f in answer["findings"]] == ["loop"]
    assert answer["spans"]["received"] == sum(answer["spans"][key] for key in ("stored", "duplicate", "rejected")) > 0
    assert answer["rejected"] == []


def test_a_good_run_is_exit_0(trailhound: Any) -> None:
    good = next(CAPTURES.glob("pydantic_ai_v*/ok"))
    assert trailhound("check", good).code == 0


def test_the_text_puts_the_finding_beside_the_steps(trailhound: Any) -> None:
    result = trailhound("check", LOOP)
    assert "WARNING   loop" in result.out
    assert "◀ WARNING loop 3 of 5" in result.out
    assert "1 finding: 1 warning" in result.out


@pytest.mark.parametrize(
    "form", ["json", "jsonl", "json lines under .json", "pb.gz", "pb.zst", "jsonl.gz", "jsonl.zst", "json.gz"]
)
def test_every_form_of_a_recording_gives_the_same(
    form: str, trailhound: Any, truth: dict[str, Any], tmp_path: Path
) -> None:
    lines = "\n".join(as_json(path) for path in bodies()).encode() + b"\n\n"
    if form == "json":
        for path in bodies():
            (tmp_path / f"{path.stem}.json").write_text(as_json(path))
    elif form == "json.gz":
        for path in bodies():
            (tmp_path / f"{path.stem}.json.gz").write_bytes(gzip.compress(as_json(path).encode()))
    elif form == "pb.gz":
        for path in bodies():
            (tmp_path / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    elif form == "pb.zst":
        for path in bodies():
            (tmp_path / f"{path.name}.zst").write_bytes(zstandard.compress(path.read_bytes()))
    elif form == "jsonl":
        (tmp_path / "out.jsonl").write_bytes(lines)
    elif form == "jsonl.gz":
        (tmp_path / "out.jsonl.gz").write_bytes(gzip.compress(lines, mtime=0))
    elif form == "jsonl.zst":
        (tmp_path / "out.jsonl.zst").write_bytes(zstandard.compress(lines))
    else:
        (tmp_path / "out.json").write_bytes(lines)
    assert judged(trailhound, tmp_path) == truth


def test_what_is_no_recording_is_skipped_with_a_note(trailhound: Any, truth: dict[str, Any], tmp_path: Path) -> None:
    for path in bodies():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "expect.json").write_text('{"framework": "x"}')
    (tmp_path / "list.json").write_text("[1, 2]")
    (tmp_path / "metrics.json").write_text('{"resourceMetrics": []}')
    (tmp_path / "001.metrics.pb").write_bytes(b"\x0a\x00")
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / ".hidden.pb").write_bytes(b"\xff")
    result = trailhound("check", tmp_path, "--format", "json")
    assert json.loads(result.out) == truth
    assert sorted(line.split("/")[-1].split(":")[0] for line in result.err.splitlines()) == [
        "001.metrics.pb", "expect.json", "list.json", "metrics.json", "notes.txt",
    ]  # fmt: skip
    assert all(": skipped, " in line for line in result.err.splitlines())


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("900.pb", b"\xff\xff\xff", "bad_protobuf"),
        ("900.pb", b"<html>", "bad_protobuf"),
        ("900.pb.gz", b"no gzip", "bad_compression"),
        ("900.pb.zst", b"no zstd", "bad_compression"),
        ("900.jsonl.gz", b"no gzip", "bad_compression"),
        ("900.jsonl.gz", gzip.compress(b'{"resourceSpans": []}\n', mtime=0)[:-9], "bad_compression"),
        ("900.jsonl.zst", b"no zstd", "bad_compression"),
        ("900.json", b'{"resourceSpans": [', "bad_json"),
        ("900.jsonl", b'{"resourceSpans": []}\n{"resour', "bad_json"),
    ],
)
def test_a_broken_body_is_reported_and_harms_no_other(
    name: str, content: bytes, reason: str, trailhound: Any, truth: dict[str, Any], tmp_path: Path
) -> None:
    for path in bodies():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / name).write_bytes(content)
    result = trailhound("check", tmp_path, "--format", "json")
    answer = json.loads(result.out)
    assert result.code == 1  # by the loop, not by the broken file
    assert answer["trajectories"] == truth["trajectories"]
    assert answer["rejected"] == [{"reason": reason, "trace_id": None, "span_id": None, "path": str(tmp_path / name)}]
    assert name in result.err


def test_a_broken_file_alone_is_no_failure_of_the_runs(trailhound: Any, tmp_path: Path) -> None:
    (tmp_path / "1.pb").write_bytes(b"\xff")
    result = trailhound("check", tmp_path)
    assert result.code == 0
    assert "1 part of the input unreadable" in result.out


def test_a_refused_span_names_its_file(trailhound: Any, tmp_path: Path) -> None:
    request = ExportTraceServiceRequest()
    request.resource_spans.add().scope_spans.add().spans.add(trace_id=b"short", span_id=b"12345678", name="x")
    (tmp_path / "1.pb").write_bytes(request.SerializeToString())
    answer = judged(trailhound, tmp_path)
    assert answer["spans"] == {"received": 1, "stored": 0, "duplicate": 0, "rejected": 1}
    assert answer["rejected"][0]["reason"] == "invalid_trace_id"
    assert answer["rejected"][0]["path"] == str(tmp_path / "1.pb")


def test_too_large_when_inflated(trailhound: Any, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("receive: {max_request: 1KiB}\n")
    (tmp_path / "1.pb.gz").write_bytes(gzip.compress(bytes(10_000)))
    answer = judged(trailhound, tmp_path / "1.pb.gz", "--config", tmp_path / "c.yaml")
    assert answer["rejected"][0]["reason"] == "too_large"


def test_each_is_one_object_a_line_with_its_path(trailhound: Any) -> None:
    good = next(CAPTURES.glob("pydantic_ai_v*/ok"))
    for form in ("json", "jsonl"):
        result = trailhound("check", "--each", "--format", form, good, LOOP)
        answers = [json.loads(line) for line in result.out.splitlines()]
        assert [answer["path"] for answer in answers] == [str(good), str(LOOP)]
        assert [len(answer["findings"]) for answer in answers] == [0, 1]
        assert result.code == 1


def test_each_as_text_names_the_path(trailhound: Any) -> None:
    assert f"== {LOOP}" in trailhound("check", "--each", LOOP).out


def test_together_is_one_recording(trailhound: Any) -> None:
    answer = judged(trailhound, LOOP, LOOP)
    assert len(answer["trajectories"]) == 1
    assert answer["spans"]["duplicate"] == answer["spans"]["stored"]


def test_steps_shows_every_run_whole(trailhound: Any) -> None:
    several = sorted(CAPTURES.glob("*/loop"))[:2]
    assert "STEP" not in trailhound("check", *several).out
    assert trailhound("check", "--steps", *several).out.count("STEP\n") >= 2


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["/no/such/path"], "no such file or folder"),
        ([LOOP, "--config", "/no/such.yaml"], "no such file"),
        ([LOOP, "--format", "xml"], "--format"),
        ([], "PATH"),
        (["\x00"], "PATH"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(args: list[Any], said: str, trailhound: Any) -> None:
    result = trailhound("check", *args)
    assert (result.code, result.err.count("\n"), result.out) == (2, 1, "")
    assert result.err.startswith("trailhound: ")
    assert said in result.err


def test_an_unknown_setting_names_the_known_ones(trailhound: Any, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("ruls: {}\n")
    result = trailhound("check", LOOP, "--config", tmp_path / "c.yaml")
    assert result.code == 2
    assert "did you mean `rules`?" in result.err


def test_files_come_in_name_order_before_those_of_sub_folders(tmp_path: Path) -> None:
    for name in ("b.pb", "a/2.pb", "a/1.pb", "c/x/1.pb", "a.pb"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "a" / "circle").symlink_to(tmp_path)
    assert [str(path.relative_to(tmp_path)) for path in files(tmp_path)] == [
        "a.pb",
        "b.pb",
        "a/1.pb",
        "a/2.pb",
        "c/x/1.pb",
    ]


def test_a_file_that_cannot_be_read_is_broken_not_fatal(tmp_path: Path) -> None:
    gone = tmp_path / "gone.pb"
    gone.symlink_to(tmp_path / "nowhere")
    found = list(read(gone, LIMIT))
    assert isinstance(found[0], Broken)
    assert found[0].reason == "unreadable"


def test_logs_are_known_by_name_and_by_content(tmp_path: Path) -> None:
    (tmp_path / "1.logs.pb").write_bytes(b"")
    (tmp_path / "2.json").write_text('{"resourceLogs": []}')
    found = [item for path in files(tmp_path) for item in read(path, LIMIT)]
    assert [item.signal for item in found if isinstance(item, Body)] == ["logs", "logs"]


def test_a_line_that_is_too_long_is_broken_and_the_next_is_read(tmp_path: Path) -> None:
    (tmp_path / "1.jsonl").write_text(
        '{"resourceSpans": []}\n' + '{"resourceSpans": [' + " " * 200 + ']}\n{"resourceSpans": []}\n{"a": 1}\n'
    )
    kinds = [type(item) for item in read(tmp_path / "1.jsonl", 100)]
    assert kinds == [Body, Broken, Body, Skipped]


def test_a_missing_path_is_invalid(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="no such file or folder"):
        list(files(tmp_path / "x"))


def test_a_real_process_ends_with_the_code() -> None:
    command = [sys.executable, "-m", "trailhound", "check"]
    assert subprocess.run([*command, str(LOOP)], capture_output=True, check=False).returncode == 1
    done = subprocess.run([*command, "/no/such"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_a_reader_that_leaves_early_is_no_error() -> None:
    shell = f"{sys.executable} -m trailhound check --format jsonl --each {' '.join([str(LOOP)] * 12)} | head -c 10; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1)
    assert all(line.endswith("skipped, JSON, but no OTLP request") for line in done.stderr.splitlines())


def test_what_must_start_quickly_loads_nothing_heavy() -> None:
    code = (
        "import sys; from trailhound.cli import application, run;"
        f"run(application('check'), ['check', '--format', 'json', {str(LOOP)!r}], 'trailhound');"
        "print([m for m in ('rich', 'chdb', 'grpc', 'aiohttp', 'clickhouse_connect', 'opentelemetry.sdk') if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"
