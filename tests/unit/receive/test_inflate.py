"""Bounded decompression: round trips, damage of every kind, and bombs that must not fill the memory."""

from __future__ import annotations

import gzip
import random
import subprocess
import sys
import zlib
from collections.abc import Callable

import pytest
import zstandard

from trailhound.collector.receive.inflate import MAX_MEMBERS, coding_of, inflate
from trailhound.errors import Invalid

MIB = 2**20


def zstd_streamed(data: bytes) -> bytes:
    """As a sender that does not know the size ahead: no content size in the frame header, and a checksum."""
    stream = zstandard.ZstdCompressor(write_checksum=True).compressobj()
    return stream.compress(data) + stream.flush()


PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}
PACKERS = [*PACK.items(), ("zstd", zstd_streamed)]
WORDS = random.Random(7).choices([b"tool ", b"llm ", b"refund ", b"\x00\x01", bytes(range(256))], k=60_000)
SAMPLES = {
    "empty": b"",
    "byte": b"x",
    "text": b"".join(WORDS),
    "noise": random.Random(1).randbytes(300_000),
    "step": b"a" * 65536,
    "zeros": bytes(3 * MIB),
}


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize(("coding", "pack"), PACKERS)
def test_round_trip(coding: str, pack: Callable[[bytes], bytes], name: str) -> None:
    data = SAMPLES[name]
    assert inflate(pack(data), coding, len(data)) == data


def test_identity_is_the_body_itself() -> None:
    body = b"as it is"
    assert inflate(body, "identity", 4) is body


@pytest.mark.parametrize(("coding", "pack"), PACKERS)
@pytest.mark.parametrize("name", ["text", "zeros"])
def test_one_byte_over_the_limit(coding: str, pack: Callable[[bytes], bytes], name: str) -> None:
    data = SAMPLES[name]
    with pytest.raises(Invalid, match=f"larger than {len(data) - 1} bytes") as caught:
        inflate(pack(data), coding, len(data) - 1)
    assert caught.value.reason == "too_large"


@pytest.mark.parametrize(("coding", "pack"), PACKERS)
def test_cut_at_every_place(coding: str, pack: Callable[[bytes], bytes]) -> None:
    packed = pack(b"some spans, some more spans " * 20)
    for end in range(len(packed)):
        with pytest.raises(Invalid) as caught:
            inflate(packed[:end], coding, MIB)
        assert caught.value.reason == "bad_compression", end


@pytest.mark.parametrize(("coding", "pack"), PACKERS)
def test_cut_in_a_large_body(coding: str, pack: Callable[[bytes], bytes]) -> None:
    packed = pack(SAMPLES["text"])
    for end in range(1, len(packed), len(packed) // 50):
        with pytest.raises(Invalid):
            inflate(packed[:end], coding, 64 * MIB)


@pytest.mark.parametrize(("coding", "pack"), PACKERS)
@pytest.mark.parametrize("junk", [b"\x00", b"junk", b"\x1f\x8b"])
def test_data_after_the_end(coding: str, pack: Callable[[bytes], bytes], junk: bytes) -> None:
    with pytest.raises(Invalid):
        inflate(pack(b"abc") + junk, coding, MIB)


@pytest.mark.parametrize(("coding", "other"), [(a, b) for a in PACK for b in PACK if PACK[a] is not PACK[b]])
def test_wrong_header(coding: str, other: str) -> None:
    with pytest.raises(Invalid) as caught:
        inflate(PACK[other](b"spans " * 100), coding, MIB)
    assert caught.value.reason == "bad_compression"


@pytest.mark.parametrize("coding", PACK)
def test_plain_body_with_a_coding(coding: str) -> None:
    with pytest.raises(Invalid):
        inflate(b"\x0a\x05plain otlp", coding, MIB)


@pytest.mark.parametrize("coding", PACK)
def test_damage_never_raises_anything_else(coding: str) -> None:
    packed = bytearray(PACK[coding](SAMPLES["text"][:20_000]))
    dice = random.Random(3)
    for _ in range(300):
        damaged = bytearray(packed)
        for _ in range(dice.randint(1, 4)):
            damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        assert reason_of(bytes(damaged), coding) in ("", "bad_compression", "too_large")


def reason_of(body: bytes, coding: str) -> str:
    """Why `body` is refused, "" when it is not."""
    try:
        inflate(body, coding, MIB)
    except Invalid as error:
        return error.reason
    return ""


def test_members_and_frames_are_joined() -> None:
    assert inflate(gzip.compress(b"ab") + gzip.compress(b"cd"), "gzip", 4) == b"abcd"
    frames = zstandard.compress(b"ab") + zstandard.compress(b"cd")
    assert inflate(frames, "zstd", 4) == b"abcd"


def test_no_endless_members() -> None:
    with pytest.raises(Invalid, match="members"):
        inflate(gzip.compress(b"") * (MAX_MEMBERS + 1), "gzip", MIB)


def test_a_zstd_window_of_128_mib_is_refused() -> None:
    parameters = zstandard.ZstdCompressionParameters.from_level(3, window_log=27)
    stream = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    packed = stream.compress(b"abc" * 1000) + stream.flush()
    with pytest.raises(Invalid):
        inflate(packed, "zstd", MIB)


def test_a_body_that_is_really_repetitive_is_still_taken() -> None:
    """Over the suspicious ratio, under the limit: 512 spans with the same long prompt are no attack."""
    data = SAMPLES["text"][:2000] * 10_000
    assert len(data) / len(zstandard.compress(data)) > 1000
    assert inflate(zstandard.compress(data), "zstd", 64 * MIB) == data


BOMB = """
import gc, resource, sys, zlib, zstandard
from trailhound.collector.receive.inflate import inflate
from trailhound.errors import Invalid

kind, mib, limit = sys.argv[1], int(sys.argv[2]), 64 * 2**20
if kind == "zstd":
    body = zstandard.ZstdCompressor(19).compress(bytes(2**20)) * mib
else:
    maker = zlib.compressobj(9, zlib.DEFLATED, 31 if kind == "gzip" else 15)
    start = maker.compress(bytes(2**20)) + maker.flush(zlib.Z_FULL_FLUSH)
    again = maker.compress(bytes(2**20)) + maker.flush(zlib.Z_FULL_FLUSH)
    if mib < 64:  # a whole one; of the others the end is never read
        rest = bytes(2**20 * (mib - 2))
        body = start + again + maker.compress(rest) + maker.flush()
    else:
        body = start + again * (mib - 1)
    del maker
gc.collect()
open("/proc/self/clear_refs", "w").write("5")  # the peak starts here: making the bomb does not count

def peak():
    return int(next(l for l in open("/proc/self/status") if l.startswith("VmHWM")).split()[1])

before = peak()
try:
    size = len(inflate(body, kind, limit))
except Invalid as error:
    size = error.reason
print(size, (peak() - before) // 1024)
"""


@pytest.mark.parametrize("coding", ["gzip", "deflate", "zstd"])
@pytest.mark.parametrize("mib", [10, 65, 1024])
def test_bombs_do_not_fill_the_memory(coding: str, mib: int) -> None:
    run = subprocess.run(
        [sys.executable, "-c", BOMB, coding, str(mib)], capture_output=True, text=True, check=True, timeout=60
    )
    outcome, grown_mib = run.stdout.split()
    assert outcome == (str(mib * MIB) if mib == 10 else "too_large")
    assert int(grown_mib) <= (2 * mib + 8 if mib == 10 else 32)


@pytest.mark.parametrize(
    ("header", "coding"),
    [
        ("", "identity"),
        ("identity", "identity"),
        (" Identity , ", "identity"),
        ("GZIP", "gzip"),
        ("gzip, identity", "gzip"),
        ("x-gzip", "x-gzip"),
        ("deflate", "deflate"),
        ("zstd", "zstd"),
    ],
)
def test_content_encoding(header: str, coding: str) -> None:
    assert coding_of(header) == coding


@pytest.mark.parametrize("header", ["br", "snappy", "lz4", "gzip, gzip", "gzip,deflate", "gzip;q=1", "identitty", "*"])
def test_unknown_and_nested_codings_are_unsupported(header: str) -> None:
    with pytest.raises(Invalid) as caught:
        coding_of(header)
    assert caught.value.reason == "unsupported_coding"


def test_a_bomb_inside_a_bomb_is_opened_once() -> None:
    inner = gzip.compress(bytes(10 * MIB))
    assert inflate(gzip.compress(inner), "gzip", MIB) == inner
