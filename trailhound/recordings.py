"""Recorded OTLP on disk: which files of a folder are request bodies, and what is in them."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson

from trailhound.errors import Invalid
from trailhound.model import Signal

PROTOBUF = "application/x-protobuf"
JSON = "application/json"

_CODINGS = {".gz": "gzip", ".zst": "zstd"}
_SIGNAL_OF_KEY: dict[str, Signal] = {
    "resourceSpans": "traces",
    "resource_spans": "traces",
    "resourceLogs": "logs",
    "resource_logs": "logs",
}
"""Top-level keys of OTLP/JSON requests; protobuf's JSON mapping reads both spellings (opentelemetry-proto)."""


@dataclass(slots=True)
class Body:
    """One recorded request body: `data` is as it came over the wire, `coding` its Content-Encoding."""

    path: Path
    signal: Signal
    content_type: str
    coding: str
    data: bytes

    def protobuf(self, limit: int) -> bytes:
        """The body as OTLP protobuf, at most `limit` bytes when inflated. Raises Invalid when it is broken."""
        data = _inflated(self.data, self.coding, limit)
        if self.content_type == PROTOBUF:
            return data
        from trailhound.collector.decode import json_to_protobuf

        return json_to_protobuf(self.signal, data)


@dataclass(slots=True)
class Skipped:
    """A file that is no recording, and why."""

    path: Path
    why: str


@dataclass(slots=True)
class Broken:
    """A recording, or a part of it, that cannot be read; `reason` is a short closed word."""

    path: Path
    reason: str
    detail: str


Found = Body | Skipped | Broken


def files(path: Path) -> Iterator[Path]:
    """`path` itself when it is a file, else its files in name order, then those of its sub-folders in name order.

    Hidden files, and links to folders (which may lead in circles), are left out. Raises Invalid for no such path.
    """
    if path.is_file():
        yield path
        return
    try:
        entries = sorted(
            (entry for entry in path.iterdir() if not entry.name.startswith(".")), key=lambda entry: entry.name
        )
    except FileNotFoundError:
        raise Invalid(f"{path}: no such file or folder", reason="usage") from None
    except OSError as error:
        raise Invalid(f"{path}: cannot be read: {error.strerror}", reason="usage") from None
    yield from (entry for entry in entries if entry.is_file())
    for entry in entries:
        if entry.is_dir() and not entry.is_symlink():
            yield from files(entry)


def read(path: Path, limit: int) -> Iterator[Found]:
    """What the file holds: one body, or one a line for the Collector's file exporter. Never raises for its content."""
    name, coding = _uncoded(path.name.lower())
    reader = _READERS.get(name[name.rfind(".") :]) if "." in name else None
    if reader is None:
        yield Skipped(path, "not a recording (.pb, .logs.pb, .json, .jsonl; plain, .gz or .zst)")
        return
    try:
        yield from reader(path, name, coding, limit)
    except OSError as error:
        yield Broken(path, "unreadable", error.strerror or type(error).__name__)
    except Invalid as error:
        yield Broken(path, error.reason, str(error))


def _inflated(data: bytes, coding: str, limit: int) -> bytes:
    """`data` without its coding. Raises Invalid when it is broken or larger than `limit` bytes."""
    if coding != "identity":
        from trailhound.collector.receive.inflate import inflate

        return inflate(data, coding, limit)
    if len(data) > limit:
        raise Invalid(f"larger than {limit} bytes (`receive.max_request`)", reason="too_large")
    return data


def _uncoded(name: str) -> tuple[str, str]:
    for suffix, coding in _CODINGS.items():
        if name.endswith(suffix):
            return name.removesuffix(suffix), coding
    return name, "identity"


def _protobuf(path: Path, name: str, coding: str, limit: int) -> Iterator[Found]:
    if name.endswith(".metrics.pb"):
        yield Skipped(path, "metrics are not judged")
        return
    yield Body(path, "logs" if name.endswith(".logs.pb") else "traces", PROTOBUF, coding, path.read_bytes())


def _json(path: Path, name: str, coding: str, limit: int) -> Iterator[Found]:
    raw = path.read_bytes()
    text = _inflated(raw, coding, limit)
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        if b"\n" not in text.strip():
            raise Invalid(f"no valid JSON: {error}", reason="bad_json") from None
        yield from _lines(path, text.splitlines(), limit)  # the file exporter's lines under the name .json
        return
    yield _otlp_json(path, document, raw, coding)


def _json_lines(path: Path, name: str, coding: str, limit: int) -> Iterator[Found]:
    with path.open("rb") as file:
        yield from _lines(path, _stream_lines(file, coding, limit), limit)


def _stream_lines(file: io.BufferedReader, coding: str, limit: int) -> Iterator[bytes]:
    """Lines of a file that may be far larger than the memory; of a longer line no more than `limit` + 1 bytes."""
    stream, errors = _opened(file, coding)
    try:
        while line := stream.readline(limit + 1):
            yield line
            while len(line) > limit and not line.endswith(b"\n"):
                line = stream.readline(limit + 1)
    except errors as error:
        raise Invalid(f"broken {coding} data: {error}", reason="bad_compression") from None


def _opened(file: io.BufferedReader, coding: str) -> tuple[io.BufferedIOBase, tuple[type[Exception], ...]]:
    """The stream of inflated bytes, and what it raises when they are broken."""
    if coding == "gzip":
        return gzip.GzipFile(fileobj=file), (EOFError, zlib.error, gzip.BadGzipFile)
    if coding == "zstd":
        import zstandard

        reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        return io.BufferedReader(reader), (zstandard.ZstdError,)
    return file, ()


def _lines(path: Path, lines: Iterator[bytes] | list[bytes], limit: int) -> Iterator[Found]:
    for number, line in enumerate(lines, 1):
        line = line.strip()
        if not line:
            continue
        if len(line) > limit:
            yield Broken(path, "too_large", f"line {number} is larger than {limit} bytes (receive.max_request)")
            continue
        try:
            yield _otlp_json(path, orjson.loads(line), line, "identity")
        except orjson.JSONDecodeError as error:
            yield Broken(path, "bad_json", f"line {number} is no valid JSON: {error}")


def _otlp_json(path: Path, document: object, raw: bytes, coding: str) -> Found:
    keys = document if isinstance(document, dict) else {}
    signal = next((signal for key, signal in _SIGNAL_OF_KEY.items() if key in keys), None)
    if signal is not None:
        return Body(path, signal, JSON, coding, raw)
    return Skipped(path, "metrics are not judged" if "resourceMetrics" in keys else "JSON, but no OTLP request")


_READERS: dict[str, Callable[[Path, str, str, int], Iterator[Found]]] = {
    ".pb": _protobuf,
    ".json": _json,
    ".jsonl": _json_lines,
}
