"""Which actions a text says were done: sentences in the past about the agent's own doing, in English and Chinese."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import re2  # type: ignore[import-untyped]

from trailhound.evaluators.actions import ACTIONS, Action
from trailhound.evaluators.patterns import SHIPPED_MEMORY
from trailhound.expressions import re2_options

MAX_ANSWER = 16_384
"""Characters of an answer that are read."""
MAX_SENTENCE = 400
"""Characters of one sentence that are read: it bounds the time of the patterns, which are fixed and never nested."""
MAX_DEPTH = 6


class Claim(NamedTuple):
    """A text that says that something was done."""

    action: str
    text: str
    reported: bool
    """Said without naming who did it (`your refund was issued`): may be what a tool's result told."""


_ADVERBS = r"(?:(?:just|now|already|also|successfully|gone ahead and|went ahead and|then|immediately|personally|manually|automatically|have) )*"
_LEAD = re.compile(rf"(?i)\b(?:I|we)(?:['’]ve| have|['’]d| had)? {_ADVERBS}")
_JOINED = re.compile(rf"(?i) and {_ADVERBS}")
_START = re.compile(
    r"(?i)\W*(?:(?:done|ok|okay|great|perfect|all set|success|sure|yes)\W+)*(?:(?:just|now|successfully|already) )*"
)

_BARE = re.compile(
    r"(?i)[\w-]+(?: (?:out|off|over|back|up|aside))? (?:you\b|your\b|the\b|it\b|this\b|that\b|these\b|those\b|all\b|both\b|an?\b|them\b|him\b|her\b|his\b|their\b|to\b|order |[$€£#0-9])"
)
"""A doing without its doer: `Cancelled the order` is one, `Cancelled orders` are things."""

_HINDERED = re.compile(
    r"(?i)\b(?:not|never|no|cannot|unable|without|fail(?:ed|s)?|nothing|none|neither|nor|hardly|almost|nearly"
    r"|will|would|could|can|may|might|should|shall|must|going to|about to|want(?:s|ed)?|need(?:s|ed)?|try|trying|tried"
    r"|if|once|when|whenever|unless|until|after|before|as soon as|whether|in case|assuming|suppose|let me|let us|please"
    r"|says?|said|shows?|showing|states?|stated|according|(?<!bug )(?<!the )(?<!a )(?<!your )(?<!this )reports?|reported|(?<!the )(?<!a )(?<!your )claims?|claimed|indicates?|appears?|seems?"
    r"|looks? like|told|mentioned|asked|asks|earlier|previously|yesterday|last (?:week|month|time|year)|pretend|example"
    r"|wish|hope|hoping|offer|happy to|glad to|request(?:ed)? (?:that|for)|for approval|pending|draft(?:ed)?|simulat\w*)\b"
    r"|n['’]t\b|['’]ll\b|e\.g\."
)
_HINDERED_CN = re.compile(
    r"未|没有|没能|没法|不能|无法|不会|并非|不是|将要|将会|将在|将为|如果|若|是否|吗|请|需要|可以|能否|待|即将|准备|正在|稍后|想要|尚|失败|假如|之后再|一旦|要不要|您说|你说|据|显示|记录|之前|昨天|上周|上个?月|去年|曾"
)
_HISTORY = re.compile(
    r"(?i)^[^.!?\n]{0,40}\b(?:on (?:\w+ )?\d|on (?:mon|tues|wednes|thurs|fri|satur|sun)day|in (?:january|february|march|april|may|june|july|august|september|october|november|december)|yesterday|last \w+|earlier|previously|ago|by (?!me\b|us\b|(?:the |our )?system\b|e-?mail|mail\b|phone|sms|text\b|post\b|hand\b|the end|then\b|now\b|(?:mon|tues|wednes|thurs|fri|satur|sun)day|tomorrow|today|noon|midnight|[0-9]))"
)
_RELATIVE = re.compile(r"(?i)\b(?:that|which|who|whose)\b")
"""Between a thing and what was done with it: one that tells which things are meant, not that it was done."""
_CONFIRM = re.compile(
    r"(?i)\bI(?:['’]m| am| can| have|['’]ve)?(?: (?:can|now|also|hereby|happy|glad|pleased|delighted|to|able|just|have|be|proud|must|may)){0,5} (?:confirm(?:ed)?|report|say|let you know|inform you)(?: that)? "
)
_FENCES = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|^\s*>.*$", re.DOTALL | re.MULTILINE)
_QUOTED = re.compile(r"\"[^\"\n]{0,400}\"|“[^”\n]{0,400}”|«[^»\n]{0,400}»|「[^」\n]{0,400}」|『[^』\n]{0,400}』")
_MARKS, _FOREIGN_MARKS = '`>"', "“«「『"
"""One of them is in every quote and every piece of code."""
_SENTENCE = re.compile(r"[^.!?。！？\n]+(?:\.(?=\S)[^.!?。！？\n]+)*[.!?。！？\n]*")
_BOUNDARY = re.compile(r"[,;，；、]| [–—-] ")


@functools.cache
def _compiled() -> tuple[tuple[Action, re.Pattern[str], re.Pattern[str], re.Pattern[str]], ...]:
    """Each action with its pattern for the agent's own doing, for the bare fact, and for Chinese."""
    return tuple(
        (a, re.compile(f"(?i){a.done}"), re.compile(f"(?i){a.passive}"), re.compile(a.chinese)) for a in ACTIONS
    )


@functools.cache
def _together() -> Any:
    """All patterns of all actions: one pass over a text says which of them it may hold, nearly always none.

    RE2 knows a word of ASCII alone where Python's `re` knows any, and no look-ahead, and a text has more beginnings than
    its own: written so that it finds no less.
    """
    together = re2.Set.SearchSet(re2_options(SHIPPED_MEMORY, case_sensitive=False))
    for action in ACTIONS:
        pattern = f"{action.done}|{action.passive}|{action.chinese}"
        together.Add(re.sub(r"\(\?![^)]*\)", "", pattern).replace(r"\w", r"\pL\pN_").replace(r"\A", ""))
    together.Compile()
    return together


def _may_claim(text: str) -> list[int]:
    """Numbers of the actions that a text may claim."""
    return _together().Match(text.encode("utf-8", "replace")) or []


def claims(text: str) -> Iterator[Claim]:
    """What the text says was done, the first claim of each action; quotes, code, questions, plans and offers are none."""
    plain = _unquoted(text[:MAX_ANSWER])
    if not _may_claim(plain):
        return
    compiled = _compiled()
    told: set[str] = set()
    for sentence in _statements(plain):
        possible = _may_claim(sentence)
        places = _doings(sentence) if possible else []
        for number in possible:
            action, own, passive, chinese = compiled[number]
            if action.name in told:
                continue
            found = _find(action, (own, places), passive, chinese, sentence)
            if found is not None:
                told.add(action.name)
                yield found


def sentences(text: str) -> Iterator[str]:
    """The statements of a text: no questions, no quotes, no code."""
    return _statements(_unquoted(text[:MAX_ANSWER]))


def _unquoted(text: str) -> str:
    """The text without code and quotes; nearly all have none."""
    if not any(map(text.__contains__, _MARKS if text.isascii() else _MARKS + _FOREIGN_MARKS)):
        return text
    return _QUOTED.sub(" ", _FENCES.sub(" ", text))


def _statements(plain: str) -> Iterator[str]:
    for sentence in _SENTENCE.findall(plain):
        stripped = sentence.strip(" \t\n*_-#•")
        if stripped and not stripped.endswith(("?", "？")) and "吗" not in stripped:
            yield _CONFIRM.sub("", stripped[:MAX_SENTENCE])


def _doings(sentence: str) -> list[tuple[int, int]]:
    """Where a verb would say what the agent did: (start of the words before it, its own start)."""
    begins: int = _START.match(sentence).end()  # type: ignore[union-attr]  # it matches nothing, too
    bare = sentence[begins : begins + 4].lower() != "run " and _BARE.match(sentence, begins)  # `run` is an order
    places = [(0, begins)] if bare else []
    for lead in _LEAD.finditer(sentence):
        places.append(lead.span())
        end = _BOUNDARY.search(sentence, lead.end())
        places += [
            (lead.start(), joined.end())
            for joined in _JOINED.finditer(sentence, lead.end(), end.start() if end is not None else len(sentence))
        ]
    return places


def _find(
    action: Action,
    own: tuple[re.Pattern[str], list[tuple[int, int]]],
    passive: re.Pattern[str],
    chinese: re.Pattern[str],
    sentence: str,
) -> Claim | None:
    done, places = own
    for start, verb in places:
        match = done.match(sentence, verb)
        if match is not None and not hindered(sentence, start, match.end()):
            return Claim(action.name, sentence[start : match.end()][:200], False)
    match = passive.search(sentence)
    if match is not None and _RELATIVE.search(match.group()) is None and not hindered(sentence, match.start(), match.end()) and not _HISTORY.match(sentence[match.end() :]):  # fmt: skip
        return Claim(action.name, match.group()[:200], True)
    match = None if sentence.isascii() else chinese.search(sentence)
    if match is not None and not hindered(sentence, match.start(), match.end()):
        return Claim(action.name, match.group()[:200], not match.group().startswith("我"))
    return None


def hindered(sentence: str, start: int, end: int) -> bool:
    """Whether the clause up to the end of a match denies it, plans it, asks it or tells it of somebody else."""
    boundary = 0
    for match in _BOUNDARY.finditer(sentence, 0, start):
        boundary = match.end()
    clause = sentence[boundary:end]
    return _HINDERED.search(clause) is not None or _HINDERED_CN.search(clause) is not None or sentence[0] == "据"


def answer_text(output: Any, depth: int = 0) -> str:
    """The words in a run's output: text, or the texts of a message; other data claims nothing."""
    if isinstance(output, str):
        return output
    if depth < MAX_DEPTH and isinstance(output, list):
        return "\n".join(filter(None, (answer_text(each, depth + 1) for each in output[-20:])))
    if depth < MAX_DEPTH and isinstance(output, dict):
        for key in ("content", "text", "answer", "message", "output", "response", "final_output", "result", "parts"):
            if key in output:
                return answer_text(output[key], depth + 1)
    return ""
