"""Decompression of request bodies in small steps, so that a bomb is refused before it fills the memory."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Generator, Iterator

import zstandard

from trailhound.errors import Invalid

STEP = 64 * 1024
"""Bytes made at once at most."""
SLICE = 16 * 1024
"""Bytes of input looked at at once: small, so that the ratio below is seen early."""
SUSPECT_BYTES = 2**20
SUSPECT_RATIO = 200
"""A body that grew over both is counted to its end, keeping nothing, before it is inflated for good.

Real batches stay far below (10 to 30); a gzip bomb has a ratio near 1000, zstd's can be higher still.
"""
MAX_WINDOW = 8 * 2**20
"""The largest zstd window that an HTTP recipient must support (RFC 9659, section 3)."""
MAX_MEMBERS = 64
"""A gzip body may be several members one after the other (RFC 1952, 2.2); no exporter makes many."""

_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_GZIP, _ZLIB = zlib.MAX_WBITS | 16, zlib.MAX_WBITS

Piece = tuple[bytes, int]
"""Inflated bytes, and how many bytes of input were used so far."""


def coding_of(header: str) -> str:
    """The one coding that a Content-Encoding names, `identity` for none; raises Invalid for several or an unknown one."""
    names = [name for part in header.split(",") if (name := part.strip().lower()) and name != "identity"]
    if not names:
        return "identity"
    if len(names) == 1 and names[0] in _CODINGS:
        return names[0]
    raise Invalid("Content-Encoding must be one of gzip, deflate, zstd or identity", reason="unsupported_coding")


def inflate(body: bytes, coding: str, limit: int) -> bytes:
    """`body` without its coding, at most `limit` bytes.

    Raises Invalid: `too_large` above the limit, `bad_compression` when the data is damaged or cut.
    """
    if coding == "identity":
        return body
    kept: list[bytes] = []
    size, suspect = 0, False
    for piece, used in _pieces(body, coding, limit):
        kept.append(piece)
        size += len(piece)
        if not suspect and size > SUSPECT_BYTES and size > used * SUSPECT_RATIO:
            suspect = True
            for _ in _pieces(body, coding, limit):
                pass
    return b"".join(kept)


def too_large(limit: int) -> Invalid:
    """The refusal of a body over the limit, with the limit in its text."""
    return Invalid(f"the request is larger than {limit} bytes (`receive.max_request`)", reason="too_large")


def _pieces(body: bytes, coding: str, limit: int) -> Iterator[Piece]:
    """The inflated body piece by piece; raises Invalid like `inflate`."""
    size = 0
    try:
        for piece, used in _CODINGS[coding](body):
            size += len(piece)
            if size > limit:
                raise too_large(limit)
            yield piece, used
    except (zlib.error, zstandard.ZstdError) as error:
        raise Invalid(f"the body is no valid {coding} data: {error}", reason="bad_compression") from None


def _gunzip(body: bytes) -> Iterator[Piece]:
    start = 0
    for _ in range(MAX_MEMBERS):
        start = yield from _zlib_stream(body, start, _GZIP)
        if start == len(body):
            return
    raise zlib.error(f"more than {MAX_MEMBERS} members")


def _deflate(body: bytes) -> Iterator[Piece]:
    if (yield from _zlib_stream(body, 0, _ZLIB)) != len(body):
        raise zlib.error("data after its end")


def _zlib_stream(body: bytes, start: int, wbits: int) -> Generator[Piece, None, int]:
    """One zlib stream that begins at `start`; returns where it ends."""
    stream = zlib.decompressobj(wbits)
    for at in range(start, len(body), SLICE):
        end = min(at + SLICE, len(body))
        data = body[at:end]
        while data:
            yield stream.decompress(data, STEP), end
            data = stream.unconsumed_tail
        if stream.eof:
            return end - len(stream.unused_data)
    while not stream.eof:  # all input is in; what is left of the output is inside zlib
        piece = stream.decompress(b"", STEP)
        if not piece and not stream.eof:
            raise zlib.error("it is cut off")
        yield piece, len(body)
    return len(body)


def _unzstd(body: bytes) -> Iterator[Piece]:
    _check_frames(body)
    source = io.BytesIO(body)
    reader = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW).stream_reader(
        source, read_size=SLICE, read_across_frames=True
    )
    while piece := reader.read(STEP):
        yield piece, source.tell()


def _check_frames(body: bytes) -> None:
    """Walk over the frames' block headers to see that the last one is whole: the reader ends silently in a cut frame.

    Format: RFC 8878, section 3.1.1 (frame) and 3.1.1.2 (blocks: a 3-byte header with last flag, type and size).
    """
    at = 0
    while True:
        if body[at : at + 4] != _ZSTD_MAGIC:
            raise zstandard.ZstdError("it does not begin with a frame")
        frame = body[at : at + 18]  # the longest frame header
        checksum = 4 if zstandard.get_frame_parameters(frame).has_checksum else 0
        at += zstandard.frame_header_size(frame)
        last = False
        while not last:
            header = int.from_bytes(body[at : at + 3], "little")
            last, kind, size = bool(header & 1), header >> 1 & 3, header >> 3
            at += 3 + (1 if kind == 1 else size)  # kind 1 repeats one byte
            if at + (checksum if last else 0) > len(body):
                raise zstandard.ZstdError("it is cut off")
        at += checksum
        if at == len(body):
            return


_CODINGS: dict[str, Callable[[bytes], Iterator[Piece]]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _deflate,
    "zstd": _unzstd,
}
"""Content codings by name. `deflate` means a zlib stream (RFC 9110, 8.4.1.2); `x-gzip` is an old name of gzip."""
