"""What a dialect is: which keys tell it, which keys hold which fact, and what only its own code can make of a span."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from trailhound.model import Kind, Span, Step

KindOf = tuple[Kind, bool]
"""(kind of step, whether it is a container: it wraps calls and is none itself)"""
LLM: KindOf = ("llm", False)
EMBEDDING: KindOf = ("embedding", False)
TOOL: KindOf = ("tool", False)
AGENT: KindOf = ("agent", True)
RETRIEVAL: KindOf = ("retrieval", False)
GUARDRAIL: KindOf = ("guardrail", False)
HANDOFF: KindOf = ("handoff", False)
APPROVAL: KindOf = ("approval", False)
CHAIN: KindOf = ("other", True)
"""A chain, workflow, task, turn or step."""
OTHER: KindOf = ("other", False)


Pauses = Literal["", "before", "stop", "after", "gate"]
"""How a dialect tells, with content captured, that a call waited for a person: by something that comes `before` the call
runs; the same, or by nothing but a `stop` after which the call runs in a trace of its own; by a span that comes `after` it
(the agent's); by a `gate` span below every call; or not at all."""


@dataclass(slots=True)
class Seen:
    """What one pass over a span's attributes found: facts by name, and flattened lists that are not put together yet."""

    span: Span
    facts: dict[str, Any] = field(default_factory=dict)
    """Field name (a key of some dialect's `fields`) -> the first non-empty value, in the order of trust."""
    flat: dict[str, list[tuple[tuple[int, str], Any]]] = field(default_factory=dict)
    """Name of a flattened list -> ((index, rest of the key), value)."""
    dialects: int = 0
    """Bit mask of the dialects that the span is written in."""


Refine = Callable[[Step, Seen], None]


def instruments(scope: str, framework: str) -> bool:
    """Whether the instrumentation scope is one of `framework`: vendors put its package name last (`vendor.x.langchain`)."""
    word = scope.replace("/", ".").rpartition(".")[2].replace("-", "_")
    return word == framework or word.endswith("_" + framework)


@dataclass(frozen=True)
class Dialect:
    """One convention. A span may be written in several at once; facts are merged field by field."""

    name: str
    order: int
    """Rank of its keys among those of other dialects that hold the same fact; the lowest is trusted most."""
    keys: tuple[str, ...] = ()
    """Attribute keys that tell this dialect; one that ends in a dot is a prefix."""
    scopes: tuple[str, ...] = ()
    """Names of instrumentation scopes that tell it; one that ends in a dot is a prefix, one that begins with a star the name
    of a framework, whoever instruments it."""
    kinds: Mapping[str, Mapping[str, KindOf]] = field(default_factory=dict)
    """Attribute key -> its values -> the kind of step."""
    kind_order: int = 0
    """As `order`, for `kinds`."""
    names: Mapping[str, KindOf] = field(default_factory=dict)
    """Span names -> kind, for spans of this dialect without a key that tells; one that ends in a space is a prefix."""
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Fact -> the attribute keys that hold it, most trusted first."""
    flat: Mapping[str, str] = field(default_factory=dict)
    """Prefix of flattened keys (`llm.input_messages.`) -> name of the list that they make up."""
    ignored: frozenset[str] = frozenset()
    """Keys in its name space that `refine` reads by itself or that say nothing of a run: never counted as unknown."""
    records_tools: Callable[[str], bool] | None = None
    """Whether the instrumentation of a given scope name gives every executed tool a span of its own."""
    tells_of_pauses: Callable[[str], Pauses] | None = None
    """Whether the instrumentation of a given scope name shows that a call waited for a person."""
    settle: Callable[[Step], None] | None = None
    """Looks at the status of a tool step again when its result was found elsewhere."""
    refine: Refine | None = None
    """Called on steps of this dialect after the common part was read, in the order of dialects."""
