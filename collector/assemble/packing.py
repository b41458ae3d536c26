"""The steps of a quiet run as bytes: a tenth of what they take as objects."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Collection
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any

import zstandard

from trailhound.model import Approval, Failure, Model, SpanLink, Status, Step, ToolCall, Usage

_LEVEL = 1
_values = attrgetter(*(field.name for field in fields(Step)))
_compress, _decompress = zstandard.ZstdCompressor(level=_LEVEL).compress, zstandard.ZstdDecompressor().decompress


@dataclass(slots=True)
class Own:
    """What a tool's span said of its call by itself, before its neighbours completed it."""

    arguments: Any
    arguments_hash: str | None
    result: Any
    status: Status
    error: Failure | None

    def write(self, span: Step) -> None:
        """Let `span` say this."""
        tool = span.tool
        assert tool is not None
        tool.arguments, tool.arguments_hash, tool.result = self.arguments, self.arguments_hash, self.result
        span.status, span.error = self.status, self.error


def _by_fields(kind: type[Any]) -> Callable[[Any], tuple[type[Any], tuple[Any, ...]]]:
    get = attrgetter(*(field.name for field in fields(kind)))
    return lambda value: (kind, get(value))


_TABLE: dict[Any, Any] = {kind: _by_fields(kind) for kind in (ToolCall, Usage, Model, Failure, Approval, SpanLink, Own)}


def pack(steps: list[Step], nameless: Collection[str], own: dict[tuple[str, str], Own]) -> bytes:
    """The steps with what is needed to have them as they were read: see `unpack`."""
    file = io.BytesIO()
    pickler = pickle.Pickler(file, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = _TABLE
    pickler.dump(([_values(step) for step in steps], frozenset(nameless), own))
    return bytes(memoryview(_compress(file.getvalue())))  # a copy: the compressor's own has room for more


def unpack(packed: bytes) -> list[Step]:
    """The steps as they were read: without what their neighbours told of them. Only for what this process packed."""
    values, nameless, own = pickle.loads(_decompress(packed))
    steps = [Step(*each) for each in values]
    for step in steps:
        step.counted, step.scope_id, step.approval = True, "", None
        if step.span_id in nameless:
            step.agent = None
        said = own.get((step.trace_id, step.span_id))
        if said is not None:
            said.write(step)
    return steps
