"""The rule `injection`: a tool's output holds instructions that are aimed at the agent."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson
import re2  # type: ignore[import-untyped]
from pydantic import Field

from trailhound.canonical import canonical_json
from trailhound.evaluators.aimed import KINDS
from trailhound.evaluators.base import Draft, Evaluator, Ref, RuleSettings, State, add_evidence, ref
from trailhound.evaluators.mentioned import is_meant
from trailhound.evaluators.patterns import SHIPPED_MEMORY, Pattern
from trailhound.evaluators.tools import Tools
from trailhound.evaluators.widened import widened
from trailhound.expressions import re2_options
from trailhound.model import Step

MAX_LOOKED = 65_536
"""Characters of a text, or bytes of other data, that are looked through."""
_NO_TEXT = (bool, int, float)
_SOME = 4096
"""Bytes that data is taken for until it is written: so many are looked through together."""
SHORT = 12
"""Shorter results hold no instruction."""
MAX_EXCERPT = 120
MAX_MATCHES = 20
"""Of one kind in one result: the first that is meant is told."""


class InjectionSettings(RuleSettings):
    patterns: list[str] = Field([], description="further patterns (RE2) of instructions aimed at the agent")


@dataclass(slots=True)
class Seen(State):
    evidence: dict[str, tuple[Ref, ...]] = field(default_factory=dict)
    """By kind and tool."""


class Injection(Evaluator[InjectionSettings, Seen]):
    """A tool's output holds instructions that are aimed at the agent, not data: `info` unless `severity` says more.

    Looked for, in English and Chinese: orders to ignore earlier instructions (in nine further languages, and with marks
    between the letters), to take another role, to act without telling or asking the user, to send prompts, secrets or
    conversations away, to remember something for all conversations, to decode a text and obey it; approvals and
    authority that a text claims for itself; orders addressed to an AI, hidden ones too; marks of chat templates and of
    tool calls; text in invisible characters; and `patterns` of your own. `details.kind` says which. What is forbidden
    (`never send ...`), quoted inside a sentence, listed as an example, or in
    one sentence with words like `prompt injection` and `attacker`, is none.
    The patterns are narrow, and a document about prompt injection has the same words: a finding means that somebody
    should look, not that the agent obeyed. What was found is never executed; its start stands in `details.excerpt`,
    escaped to plain ASCII. One finding per kind and tool; its evidence holds every call.
    """

    rule = "injection"
    reads = ("tool", "retrieval")
    SettingsType = InjectionSettings
    StateType = Seen

    def __init__(self, settings: InjectionSettings, tools: Tools) -> None:
        super().__init__(settings, tools)
        self._own = tuple(
            Pattern(text, f"rules.injection.patterns.{number}") for number, text in enumerate(settings.patterns)
        )

    def step(self, state: Seen, step: Step, run_id: str) -> None:
        self.steps(state, (step,), run_id)

    def steps(self, state: Seen, steps: Iterable[Step], run_id: str) -> None:
        together, size = list[tuple[Step, Any]](), 0
        for step in steps:
            result = step.tool.result if step.tool is not None else step.output
            if result is None or result.__class__ in _NO_TEXT:
                continue
            together.append((step, result))
            size += len(result) if result.__class__ is str else _SOME
            if size >= MAX_LOOKED:
                self._look_through(state, together)
                together, size = [], 0
        if together:
            self._look_through(state, together)

    def _look_through(self, state: Seen, results: list[tuple[Step, Any]]) -> None:
        """One pass over several results: nearly always none holds anything."""
        match = _together().Match
        if len(results) > 1 and not self._own:
            text = written_together([result for _, result in results])
            if text is not None and not match(text):
                return
        for step, result in results:
            text = written(result)
            if len(text) >= SHORT and ((found := match(text)) or self._own):
                self._look(state, step, text, found or [])

    def _look(self, state: Seen, step: Step, text: bytes, found: list[int]) -> None:
        """Tell of the kinds that a result holds, and of what the patterns of the configuration find in it."""
        readable = text.decode("utf-8", "replace")
        for kind, pattern in [_each()[number] for number in found]:
            for match in itertools.islice(pattern.finditer(readable), MAX_MATCHES):
                if is_meant(kind, readable, *match.span()):
                    self._report(state, step, kind, match.group())
                    break
        for number, own in enumerate(self._own):
            if own.search(readable):
                self._report(state, step, f"pattern {number}", own.text)

    def _report(self, state: Seen, step: Step, kind: str, found: str) -> None:
        tool = step.tool.name if step.tool is not None else step.name
        anchor = f"{kind}:{tool[:200]}"
        if anchor not in state.findings and len(state.evidence) >= 100:
            return
        state.evidence[anchor] = add_evidence(state.evidence.get(anchor, ()), ref(step))
        state.report(
            Draft(
                anchor=anchor,
                severity="info",  # patterns find words, not intentions
                summary=f"the output of {tool[:80]} holds an instruction aimed at the agent ({kind})",
                expected="output of tools is data",
                actual=f"an instruction of the kind `{kind}`",
                evidence=state.evidence[anchor],
                about=step,
                details={"tool": tool, "kind": kind, "excerpt": escaped(found)},
            ),
            step,
        )


def written_together(results: list[Any]) -> bytes | None:
    """All of these results, as `written` each; None where that cannot be, as one of them is cut or none of JSON.

    A kind that is found in one of them is found in all of them too: no pattern has an end of the text in it, what one
    has of its beginning holds behind a line end, and JSON data begins with a bracket, which none of them begins with.
    """
    text = "\n".join([each[:MAX_LOOKED] for each in results if each.__class__ is str]).encode("utf-8", "replace")
    data = [each for each in results if each.__class__ is not str]
    if not data:
        return text
    try:
        json = orjson.dumps(data, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:  # see `written`
        return None
    return None if len(json) > MAX_LOOKED else _lines(json) + b"\n" + text


def written(result: Any) -> bytes:
    """The start of a result in UTF-8, as RE2 reads it: text as it is, other data as JSON."""
    if result.__class__ is str:
        return result[:MAX_LOOKED].encode("utf-8", "replace")
    try:
        return _lines(orjson.dumps(result, option=orjson.OPT_NON_STR_KEYS)[:MAX_LOOKED])
    except TypeError:  # lone surrogates, numbers beyond 64 bits
        return _lines(canonical_json(result)[:MAX_LOOKED])


def _lines(json: bytes) -> bytes:
    """JSON with the ends of lines as they were: behind `\\n` no word would begin."""
    return json.replace(b"\\n", b"\n").replace(b"\\t", b"\t") if b"\\" in json else json


def escaped(text: str) -> str:
    """The start of a text that may not be trusted, in ASCII without control characters or markup."""
    plain = json.dumps(text[:MAX_EXCERPT], ensure_ascii=True)[1:-1]
    return "".join(f"\\u{ord(c):04x}" if c in "<>&`*_[]()|" else c for c in plain)


@functools.cache
def _together() -> Any:
    """All kinds at once, each wider than it is: one pass over a text finds what it may hold, nearly always nothing."""
    together = re2.Set.SearchSet(re2_options(SHIPPED_MEMORY, case_sensitive=False))
    for pattern in KINDS.values():
        together.Add(widened(pattern))
    together.Compile()
    return together


@functools.cache
def _each() -> list[tuple[str, Any]]:
    return [
        (kind, re2.compile(pattern, re2_options(SHIPPED_MEMORY, case_sensitive=False)))
        for kind, pattern in KINDS.items()
    ]
