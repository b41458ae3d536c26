"""The rule `false-claim`: the answer says that something was done, and no call did it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from trailhound.canonical import canonical_json
from trailhound.evaluators.base import Draft, Evaluator, Ref, RuleSettings, State, last_of, ref
from trailhound.evaluators.capability import can_do
from trailhound.evaluators.claims import Claim, answer_text, claims, hindered, sentences
from trailhound.evaluators.handing import taker_of
from trailhound.evaluators.outcomes import says_undone
from trailhound.evaluators.patterns import Pattern
from trailhound.evaluators.tool_words import TELLING
from trailhound.evaluators.tools import bare_name
from trailhound.model import Run

MAX_CALLS = 32_000
"""Steps of a run of which nothing is said if it has more: of such runs the first may be gone, and may have done it."""
MAX_RESULTS = 32
"""Latest results that are looked through for what the answer may only report."""
MAX_RESULT = 65_536
_BY_ITSELF = re.compile(r"(?i)\b(?:confirmations?|receipts?|notifications?)\b|确认|回执")
"""What a system sends by itself when a tool has changed something in it."""


class Called(NamedTuple):
    """The tool calls of a run."""

    done: frozenset[str]
    """Names of tools that were called successfully, in earlier runs of the session too."""
    failed: dict[str, list[Ref]]
    """Name -> calls that failed, were denied or never ran."""
    results: list[Any]
    """The latest ones."""


class FalseClaim(Evaluator[RuleSettings, State]):
    """The final answer says that something was done, and no successful call of a tool that can do it exists.

    Judged when the run has completed. Read as claims are plain statements about the agent's own doing, in English and
    Chinese: `I have cancelled ...`, `I managed to book ...`, `your account has been unlocked`, `Refund issued.`, and
    我已, 已为您, ...了, ...成功 with a verb of an action: a refund, a message sent, a cancellation, a booking or an order,
    a ticket or label created, an update, a deletion, tests that pass, a deployment, a payment, an escalation, access or
    an account changed, a restart, a file saved, an approval, a discount, a ticket closed. Denials, plans, offers,
    conditions, questions, quotes, code, what others are said to have done, when something happened in the past, and
    what the agent did to its own words (`I updated the draft`) are none. `tools[].claims` adds patterns (RE2) for a tool
    of your own; they are searched in the same sentences, and only calls of tools under that entry support them.

    A call supports a claim when it succeeded, did not answer `{"ok": false}`, and its tool can do it: by the words in
    its name (`issue_refund` refunds, `lookup_order` changes nothing), and a tool whose name does not tell (`bash`,
    `process_case`) can do anything. Calls in earlier runs of the same session count. A claim that names no doer (`your
    refund was issued`) is also supported by a tool's result that mentions it: the agent may only be reporting; and a
    confirmation or receipt that was sent by any call that changed something. Words that may name two actions
    (`published the page`) are supported by either. The evidence is the failed calls of tools that could have done it,
    else the call that gave the answer.
    """

    rule = "false-claim"
    reads = ()

    def conclude(self, state: State, run: Run) -> Iterable[Draft]:
        if run.status != "completed" or run.output is None or len(run.calls) >= MAX_CALLS:
            return ()
        text = answer_text(run.output)
        said = list(claims(text))
        if not said and not (text and self.tools.claiming):
            return ()
        called = self._called(run)
        return [*self._declared(called, run, text), *self._usual(called, run, said)]

    def _called(self, run: Run) -> Called:
        done, failed, results = set(run.earlier_calls), dict[str, list[Ref]](), list[Any]()
        for step in run.calls:
            if step.kind == "handoff" or step.hands_to is not None:
                done.add("handoff")
            elif taker_of(step) is not None and step.status == "ok":
                done.add("handoff")  # what the other agent calls speaks for itself
                continue
            call = step.tool
            if call is None:
                continue
            if step.status == "ok" and not self.tools.failed(call) and not says_undone(call.result):
                done.add(call.name)
            elif len(tried := failed.setdefault(call.name, [])) < MAX_RESULTS:
                tried.append(ref(step))
            if call.result is not None:
                results.append(call.result)
        return Called(frozenset(done), failed, results[-MAX_RESULTS:])

    def _usual(self, called: Called, run: Run, said: list[Claim]) -> Iterator[Draft]:
        """The claims that are known without configuration."""
        able = [can_do(bare_name(name)) for name in called.done]
        if None in able:
            return
        for claim in said:
            named = {claim.action, *claim.also}
            if any(actions is not None and named & actions for actions in able):
                continue
            if claim.reported and any(able) and _BY_ITSELF.search(claim.text):
                continue
            if self._declares(claim.text) or (claim.reported and _mentioned(called.results, named)):
                continue
            tried = [refs for name, refs in called.failed.items() if _could(name, named)]
            yield _draft(claim.action, claim.text, [r for refs in tried for r in refs], run)

    def _declares(self, text: str) -> bool:
        """Whether the configuration says whose claim this is: then that alone is judged."""
        return any(pattern.search(text) for each in self.tools.claiming for pattern in each.claims)

    def _declared(self, called: Called, run: Run, text: str) -> Iterator[Draft]:
        """The claims of `tools[].claims`."""
        if not self.tools.claiming:
            return
        done = {id(self.tools.of(name)) for name in called.done}
        statements = list(sentences(text))
        for each in self.tools.claiming:
            if id(each) in done:
                continue
            claim = _found(statements, each.claims)
            if claim is not None:
                tried = [r for name, refs in called.failed.items() if self.tools.of(name) is each for r in refs]
                yield _draft(each.tool.match[0], claim[:200], tried, run)


def _found(said: list[str], patterns: tuple[Pattern, ...]) -> str | None:
    """The first text in these sentences that matches and is no denial, plan or offer."""
    for sentence in said:
        for pattern in patterns:
            for start, end in pattern.spans(sentence):
                if not hindered(sentence, start, end):
                    return sentence[start:end]
    return None


def _could(name: str, named: set[str]) -> bool:
    actions = can_do(bare_name(name))
    return actions is None or bool(named & actions)


def _mentioned(results: list[Any], named: set[str]) -> bool:
    """Whether a tool's result tells of one of the actions."""
    looked_for = [stem for action in named for stem in TELLING[action].stems]
    for result in results:
        text = result if isinstance(result, str) else canonical_json(result).decode("utf-8", "replace")
        if any(stem in text[:MAX_RESULT].lower() for stem in looked_for):
            return True
    return False


def _draft(action: str, claim: str, tried: list[Ref], run: Run) -> Draft:
    answered = last_of(run, "llm")
    how = f"{len(tried)} calls that could have done it did not succeed" if tried else "no call that could have done it"
    return Draft(
        anchor=action,
        severity="warning",
        summary=f"the answer claims an action ({action[:60]}) that no successful call did",
        expected="a successful call before the claim",
        actual=how,
        evidence=tuple(tried) or ((ref(answered),) if answered is not None else ()),
        details={"action": action, "claim": claim, "failed_calls": len(tried)},
    )
