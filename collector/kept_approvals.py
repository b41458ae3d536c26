"""What is known of approvals, on disk: a decision may come days before its call, and the journal is not kept so long."""

from __future__ import annotations

import dataclasses
import logging
import os
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson

from trailhound.collector.assemble.filed import Call, Filed, Seen
from trailhound.model import Approval, ApprovalVerdict

log = logging.getLogger(__name__)

DAY_NS = 86_400_000_000_000
_NAME = "approvals-*.jsonl"


class KeptApprovals:
    """One append-only file a day of receipt, written before the cursor moves past what is in it.

    What a replay from segment `replay_from` on files again by itself is not loaded. Files older than decisions are good
    for are deleted whole. A line is what one carrier told or one call, as it was filed last; a torn last line is passed
    over, as the cursor has not moved past it.
    """

    def __init__(self, directory: Path, keep_s: float, replay_from: int) -> None:
        self._directory, self._replay_from = directory, replay_from
        self._days = int(keep_s * 1e9) // DAY_NS + 2
        self._unwritten: dict[tuple[str, ...], Filed] = {}
        self._newest = 0
        self._lock = threading.Lock()

    def load(self) -> list[Filed]:
        """What was filed before the replay, oldest first. Raises OSError for a disk that fails."""
        found: dict[tuple[str, ...], Filed] = {}
        for path in sorted(self._directory.glob(_NAME)):
            for filed in _read(path):
                first = found.pop(filed.key, filed)
                filed.segment = min(filed.segment, first.segment)
                found[filed.key] = filed
        return [f for f in found.values() if f.segment < self._replay_from and (f.decisions or f.call is not None)]

    def add(self, filed: Filed) -> None:
        """Take what was filed, or filed anew; on disk after `write`."""
        with self._lock:
            self._unwritten[filed.key] = filed

    def write(self) -> None:
        """Append what is new; survives a loss of power when it returns. Raises OSError."""
        with self._lock:
            unwritten, self._unwritten = self._unwritten, {}
        if not unwritten:
            return
        try:
            for day in sorted({filed.received_ns // DAY_NS for filed in unwritten.values()}):
                _append(self._path(day), [f for f in unwritten.values() if f.received_ns // DAY_NS == day])
                self._newest = max(self._newest, day)
        except OSError:
            with self._lock:
                self._unwritten = unwritten | self._unwritten
            raise
        self._tidy()

    def _path(self, day: int) -> Path:
        return self._directory / f"approvals-{day:06d}.jsonl"

    def _tidy(self) -> None:
        oldest = self._path(max(0, self._newest - self._days)).name
        for path in self._directory.glob(_NAME):
            if path.name < oldest:
                path.unlink(missing_ok=True)


def _append(path: Path, filed: Iterable[Filed]) -> None:
    data = b"".join(_line(each) for each in filed)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        data = b"\n" + data if torn else data
        while data:
            data = data[os.write(descriptor, data) :]
        os.fdatasync(descriptor)
    finally:
        os.close(descriptor)


def _line(filed: Filed) -> bytes:
    document = dataclasses.asdict(filed)
    return orjson.dumps({name: value for name, value in document.items() if value}) + b"\n"


def _read(path: Path) -> Iterator[Filed]:
    for line in path.read_bytes().splitlines():
        try:
            yield _filed(orjson.loads(line))
        except (AttributeError, KeyError, TypeError, ValueError):  # whatever is no record that was written here
            log.warning("%s: a line that cannot be read is passed over", path)


def _filed(document: dict[str, Any]) -> Filed:
    call, verdict, seen = document.get("call"), document.get("verdict"), document.get("seen")
    return Filed(
        tuple(document["key"]),
        tuple((tenant, name) for tenant, name in document.get("places", ())),
        int(document.get("received_ns", 0)),
        tuple(Approval(**decision) for decision in document.get("decisions", ())),
        None if call is None else Call(**call | {"key": tuple(call["key"])}),
        None if verdict is None else ApprovalVerdict(**verdict),
        None if seen is None else Seen(**seen),
        int(document.get("segment", 0)),
        document.get("user", ""),
    )
