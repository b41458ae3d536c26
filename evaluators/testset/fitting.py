"""Makes a case fit into its file: what a run recorded may be far larger than a case may be."""

from __future__ import annotations

import hashlib
from itertools import islice
from typing import Any

import orjson

from trailhound.errors import Invalid
from trailhound.evaluators.testset.case import Case
from trailhound.evaluators.testset.notation import MAX_SIZE

LENGTHS = (65_536, 16_384, 4_096, 1_024, 256)
"""Characters that one text of the recording may keep, tried in this order."""
STEPS = (2_000, 500, 100)
"""Steps that a recording may keep, tried when short texts are not enough."""

CONTENT = frozenset({"arguments", "result", "input", "output"})
"""Keys below which lists and objects may be cut too: nothing but the agent and its tools decided their size."""
MARKED = 300
"""Steps that findings point at which are kept at most."""


def fit(case: Case) -> str:
    """The YAML of the case, its recording shortened as far as needed, which `unknowns` then says.

    Texts are cut to a start and a hash, so that equal texts stay equal, and large objects and lists to their start. After that the middle of the run is left out,
    but for the steps that findings point at.
    """
    text = _yaml(case)
    if text:
        return text
    whole, known = case.recorded, list(case.unknowns)
    for length in LENGTHS:
        case.recorded = _cut(whole, length)
        case.input, case.context = (
            _cut(case.input, length, length // 8),
            [
                t.model_copy(
                    update={"input": _cut(t.input, length, length // 8), "output": _cut(t.output, length, length // 8)}
                )
                for t in case.context
            ],
        )
        case.unknowns = [*known, f"texts longer than {length} characters: they are cut, a file of a case holds 1 MiB"]
        if text := _yaml(case):
            return text
    return _fit_steps(case)


def _fit_steps(case: Case) -> str:
    short, known = case.recorded, list(case.unknowns)
    pointed = ((e["trace_id"], e["span_id"]) for finding in case.failure.findings for e in finding.evidence[:100])
    marked = set(islice(pointed, MARKED))
    for number in STEPS:
        steps = short["steps"]
        keep = [
            step
            for index, step in enumerate(steps)
            if index < number // 2 or index >= len(steps) - number // 2 or (step["trace_id"], step["span_id"]) in marked
        ]
        case.recorded = {**short, "steps": keep}
        case.unknowns = [
            *known,
            f"{len(steps) - len(keep)} of {len(steps)} steps: they are left out, a file of a case holds 1 MiB",
        ]
        if text := _yaml(case):
            return text
    raise Invalid("the run does not fit into a case, a file of 1 MiB, however much is cut", reason="case")


def _yaml(case: Case) -> str:
    """The text of the case when it fits, else ""."""
    if len(orjson.dumps(case.recorded)) > MAX_SIZE:  # its YAML is longer still, and takes seconds to write
        return ""
    text = case.to_yaml()
    return text if len(text.encode()) <= MAX_SIZE else ""


def _cut(value: Any, length: int, entries: int | None = None) -> Any:
    """Texts and keys of at most `length` characters and, in what the agent and its tools said, containers of `entries`."""
    if isinstance(value, str):
        return value if len(value) <= length else _start_of(value, length)
    if isinstance(value, dict):
        kept = {
            _cut(key, length): _cut(item, length, length // 8 if key in CONTENT else entries)
            for key, item in islice(value.items(), entries)
        }
        return kept if len(kept) == len(value) else {**kept, "(cut)": f"{len(kept)} of {len(value)} entries"}
    if isinstance(value, list):
        items = [_cut(item, length, entries) for item in islice(value, entries)]
        return items if len(items) == len(value) else [*items, f"(cut, {len(items)} of {len(value)} items)"]
    return value


def _start_of(text: str, length: int) -> str:
    mark = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
    return f"{text[:length]}... (cut, {len(text)} characters, sha256 {mark})"
