"""Makes a case fit into its file: what a run recorded may be far larger than a case may be."""

from __future__ import annotations

import hashlib
from itertools import islice
from typing import Any

import orjson

from trailhound.evaluators.testset.case import Case
from trailhound.evaluators.testset.notation import MAX_SIZE

LENGTHS = (65_536, 16_384, 4_096, 1_024, 256)
"""Characters that one text of the recording may keep, tried in this order."""
STEPS = (2_000, 500, 100)
"""Steps that a recording may keep, tried when short texts are not enough."""

MARKED = 300
"""Steps that findings point at which are kept at most."""


def fit(case: Case) -> str:
    """The YAML of the case, its recording shortened as far as needed, which `unknowns` then says.

    Texts are cut to a start and a hash, so that equal texts stay equal. After that the middle of the run is left out,
    but for the steps that findings point at.
    """
    text = _yaml(case)
    if text:
        return text
    whole, known = case.recorded, list(case.unknowns)
    for length in LENGTHS:
        case.recorded = _cut(whole, length)
        case.input, case.context = (
            _cut(case.input, length),
            [
                t.model_copy(update={"input": _cut(t.input, length), "output": _cut(t.output, length)})
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
    return case.to_yaml()


def _yaml(case: Case) -> str:
    """The text of the case when it fits, else ""."""
    if len(orjson.dumps(case.recorded)) > MAX_SIZE:  # its YAML is longer still, and takes seconds to write
        return ""
    text = case.to_yaml()
    return text if len(text.encode()) <= MAX_SIZE else ""


def _cut(value: Any, length: int) -> Any:
    if isinstance(value, str):
        if len(value) <= length:
            return value
        return f"{value[:length]}... (cut, {len(value)} characters, sha256 {hashlib.sha256(value.encode()).hexdigest()[:16]})"
    if isinstance(value, dict):
        return {key: _cut(item, length) for key, item in value.items()}
    if isinstance(value, list):
        return [_cut(item, length) for item in value]
    return value
