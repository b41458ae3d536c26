"""Which actions a text says were done: sentences in the past about the agent's own doing, in English and Chinese."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import re2  # type: ignore[import-untyped]

from trailhound.evaluators.actions import ACTIONS, Action
from trailhound.evaluators.patterns import SHIPPED_MEMORY
from trailhound.evaluators.pieces import Pieces
from trailhound.expressions import re2_options

MAX_ANSWER = 16_384
"""Characters of an answer that are read."""
MAX_SENTENCE = 400
"""Characters of one sentence that are read: it bounds the time of the patterns, which are fixed and never nested."""
MAX_LOOKED = 64
"""Sentences of an answer that may claim something and are read for it: a hostile answer has thousands."""
MAX_PLACES = 16
"""Doings of one sentence."""
MAX_DEPTH = 6


class Claim(NamedTuple):
    """A text that says that something was done."""

    action: str
    text: str
    reported: bool
    """Said without naming who did it (`your refund was issued`, `Removed the exporter`): may be what a tool's result told."""
    also: tuple[str, ...] = ()
    """Further actions that the same words may name (`published the page`): a call that did any of them did this."""


_ADVERBS = r"(?:(?:just|now|already|also|successfully|gone ahead and|went ahead and|then|immediately|personally|manually|automatically|permanently|temporarily|safely|finally|officially|quickly|have) )*"
_LEAD = re.compile(rf"(?i)\b(?:I|we)(?:['’]ve| have|['’]d| had)? {_ADVERBS}")
_JOINED = re.compile(rf"(?i),? and {_ADVERBS}")
_START = re.compile(
    r"(?i)\W*(?:(?:done|ok|okay|great|perfect|all set|success|sure|yes)\W+)*(?:(?:just|now|successfully|already) )*"
)

_BARE = re.compile(
    r"(?i)[\w-]+(?: (?:out|off|over|back|up|aside))? (?:you\b|your\b|the\b|it\b|this\b|that\b|these\b|those\b|all\b|both\b|an?\b|them\b|him\b|her\b|his\b|their\b|to\b|order |[$€£#0-9]|(?:[A-Za-z]+ ){1,2}#?[A-Z]{0,5}-?[0-9][\w.-]*\b|[\w@/.-]+ from [\w.-]+ to\b)"
)
"""A doing without its doer: `Cancelled the order` and `Merged PR #3` are such, `Cancelled orders` are things."""

_HINDERED = re.compile(
    r"(?i)\b(?:not|never|no|cannot|unable|without|fail(?:ed|s)?|nothing|nobody|none|neither|nor|few|hardly|almost|nearly"
    r"|will|would|could|can|may|might|should|shall|must|going to|about to|want(?:s|ed)?|need(?:s|ed)?|try|trying|tried"
    r"|if|once|when|whenever|unless|until|after|before|as soon as|whether|in case|assuming|suppose|let me|let us|please"
    r"|says?|said|shows?|showing|states?|stated|according|(?<!bug )(?<!the )(?<!a )(?<!your )(?<!this )reports?|reported|(?<!the )(?<!a )(?<!your )claims?|claimed|indicates?|appears?|seems?"
    r"|looks? like|told|mentioned|asked|asks|earlier|previously|yesterday|last (?:week|month|time|year)|pretend|example"
    r"|wish|hope|hoping|offer(?:s|ed|ing)? to|(?:I|we) offer|notice[ds]?|noticed|(?:see|saw|find|found|learn|learned|read|know|understand|understood|assume|believe|think|guess|expect|suspect|heard) that|(?:check|ensure|make sure|verify|see|confirm) (?:that|the|your)|happy to|glad to|request(?:ed)? (?:that|for)|for approval|pending|draft(?:ed)?|simulat\w*)\b"
    r"|n['’]t\b|['’]ll\b|e\.g\."
)
_INVERTED = re.compile(r"(?i)(?:had|were|was|has|have|did|does|do|should|is|are) ")
"""At the start of a sentence: a condition (`Had the tests passed, ...`) or a question without its mark."""
_WORDING = re.compile(
    r"(?i)\w+(?: (?:out|up|over|off|in))?(?: (?:your|the|this|that|these|my|both|all|an?|some|his|her))?(?: [\w'’-]+)? (?:drafts?|summary|summaries|answers?|response|reply|estimates?|wording|text|paragraphs?|sentences?|sections?|calculations?|comparison|itinerary|examples?|explanation|query|queries|search|filters?|criteria|parameters?|approach|formatting|tone|outline|recommendations?|suggestions?|code snippet|essay|letter|cv|resume|poem|story|article|grammar|typos?|font|charts?|axes|figures?|fraction|equation|headings?|series|recipe|duplicates)\b"
    r"|[^,;:.]{0,80}\b(?:below|above|as follows|in the (?:\w+ )?(?:calculation|chart|example|text|answer|table|list|summary|draft)|(?:in|from|of) your (?:text|essay|letter|list|draft|question))\b"
)
"""What an agent changes in its own words, without a tool."""
_WORDS_ALONE = frozenset({"update", "delete", "create", "save", "apply", "restart", "close", "escalate"})
"""Actions that words alone can be the object of."""
_HINDERED_CN = re.compile(
    r"未|没有|没能|没法|不能|无法|不会|并非|不是|将要|将会|将在|将为|如果|若|是否|吗|(?<!申)(?<!邀)请(?!假|求|购)|需要|可以|能否|待|即将|准备|正在|稍后|想要|尚|失败|假如|之后再|一旦|要不要|您说|你说|(?<![数单票证])据|显示|记录|之前|昨天|上周|上个?月|去年|曾|已有人|由(?!我)|被(?!永久|彻底|完全|成功|取消|删|移|清|冻|撤|停|合|部|重|我|标)|状态|其中|功能已在|版中|对方|商家|卖家|航空公司|快递|客户(?=已|刚|把|也)|草稿|段|上面|上述|下面|方案|摘要|答案|表格|文字|句子|于\s?[0-9]|自动(?!续费|还款|付款|扣款)|(?:^|[^为给帮替向])[您你他她](?:们)?(?:已|刚|曾|在)"
)
_HISTORY = re.compile(
    r"(?i)^[^.!?\n:;]{0,40}\b(?:on (?:the )?\d{1,2}(?:st|nd|rd|th|\b)|on \d{4}-|on (?:january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sep|oct|nov|dec)\b|on (?:mon|tues|wednes|thurs|fri|satur|sun)day|in (?:january|february|march|april|may|june|july|august|september|october|november|december)|yesterday|last \w+|earlier|previously|ago|since|because|due to|at (?:[0-9]|noon|midnight)|in (?:19|20)[0-9][0-9]|by (?!me\b|us\b|(?:the |our )?system\b|e-?mail|mail\b|phone|sms|text\b|post\b|hand\b|the end|then\b|now\b|(?:mon|tues|wednes|thurs|fri|satur|sun)day|tomorrow|today|noon|midnight|[0-9]))"
)
_RELATIVE = re.compile(r"(?i)\b(?:which|who|whose|(?<!for )you|we|I|they)\b|\w that\b")
"""Between a thing and what was done with it: one that tells which things are meant, not that it was done."""
_OTHERS = re.compile(r"(?i)\b(?:that|which|who|whose|I|we|you)(?:['’]ve)? \Z")
"""Before what was done to somebody: told of things, or of the agent itself (`I was informed`)."""
_CONFIRM = re.compile(
    r"(?i)\bI(?:['’]m| am| can| have|['’]ve)?(?: (?:can|now|also|hereby|happy|glad|pleased|delighted|to|able|just|have|be|proud|must|may)){0,5} (?:confirm(?:ed)?|report|say|let you know|inform you)(?: that)? "
)
_FENCES = re.compile(r"```.*?(?:```|\Z)|^\s*>.*$", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"(?<!`)`[^`\n]+`(?!`)")
_SPACES = re.compile(r"[ \t]+")
_ABBREVIATED = re.compile(r"\b(Dr|Mrs?|Ms|Prof|St|Inc|Ltd|vs|approx|[A-Z])\. ")
"""Words whose period ends no sentence."""
_QUOTED = re.compile(r"\"[^\"\n]{0,400}\"|“[^”\n]{0,400}”|«[^»\n]{0,400}»|「[^」\n]{0,400}」|『[^』\n]{0,400}』")
_MARKS, _FOREIGN_MARKS = '`>"', "“«「『"
"""One of them is in every quote and every piece of code."""
_SENTENCE = re.compile(r"[^.!?。！？\n]+(?:\.(?=\S)[^.!?。！？\n]+)*[.!?。！？\n]*")
_UNTIL = re.compile(r",(?! and )|[;，；、]| [–—-] ")
"""Where the doings of one doer end."""
_BOUNDARY = re.compile(r"[,;，；、]| [–—-] ")


@functools.cache
def _compiled() -> tuple[tuple[Action, re.Pattern[str], Any, re.Pattern[str]], ...]:
    """Each action with its pattern for the agent's own doing, for the bare fact, and for Chinese."""
    return tuple(
        (
            a,
            re.compile(f"(?i){a.done}"),
            re2.compile(
                a.passive, re2_options(SHIPPED_MEMORY, case_sensitive=False)
            ),  # long subjects: `re` would try all
            re.compile(a.chinese),
        )
        for a in ACTIONS
    )


@functools.cache
def _together() -> Pieces:
    """All patterns of all actions: one pass over a text says which of them it may hold, nearly always none.

    RE2 knows no look-ahead, and a text has more beginnings than its own: written so that it finds no less.
    """
    return Pieces(re.sub(r"\(\?![^)]*\)", "", action.hint).replace(r"\A", "") for action in ACTIONS)


def _may_claim(text: str) -> list[int]:
    """Numbers of the actions that a text may claim; of two readings of the same words the first names the claim."""
    return _together().possible(text)


def claims(text: str) -> Iterator[Claim]:
    """What the text says was done, the first claim of each action; quotes, code, questions, plans and offers are none."""
    plain = _unquoted(text[:MAX_ANSWER])
    if not _may_claim(plain):
        return
    plain = _ABBREVIATED.sub(r"\1 ", plain)
    compiled = _compiled()
    told: set[str] = set()
    looked = 0
    for sentence in _statements(plain):
        possible = [number for number in _may_claim(sentence) if compiled[number][0].name not in told]
        if not possible:
            continue
        looked += 1
        if looked > MAX_LOOKED:
            return
        places = _doings(sentence)
        told_here: list[tuple[Claim, int, int]] = []
        for number in possible:
            action, own, passive, chinese = compiled[number]
            found = _find(action, (own, places), passive, chinese, sentence)
            if found is not None:
                told_here.append(found)
        for claim in _apart(told_here):
            if claim.action not in told:
                told.update((claim.action, *claim.also))
                yield claim


def sentences(text: str) -> Iterator[str]:
    """The statements of a text: no questions, no quotes, no code."""
    return _statements(_unquoted(text[:MAX_ANSWER]))


def _unquoted(text: str) -> str:
    """The text without code and quotes; nearly all have none."""
    if not any(map(text.__contains__, _MARKS if text.isascii() else _MARKS + _FOREIGN_MARKS)):
        return text
    return _SPACES.sub(" ", _QUOTED.sub(" ", _FENCES.sub(" ", _INLINE.sub(" _ ", text))))


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
        end = _UNTIL.search(sentence, lead.end())
        places += [
            (lead.start(), joined.end())
            for joined in _JOINED.finditer(sentence, lead.end(), end.start() if end is not None else len(sentence))
        ]
    return places[:MAX_PLACES]


def _apart(found: list[tuple[Claim, int, int]]) -> Iterator[Claim]:
    """One claim of each place of a sentence: readings of the same words are one, which any of their actions did."""
    claim, until = None, 0
    for each, start, end in sorted(found, key=lambda one: one[1]):
        if claim is not None and start < until:
            claim, until = (
                claim._replace(also=(*claim.also, each.action), reported=claim.reported and each.reported),
                max(until, end),
            )
            continue
        if claim is not None:
            yield claim
        claim, until = each, end
    if claim is not None:
        yield claim


def _find(
    action: Action,
    own: tuple[re.Pattern[str], list[tuple[int, int]]],
    passive: Any,
    chinese: re.Pattern[str],
    sentence: str,
) -> tuple[Claim, int, int] | None:
    """The first claim of one action in a sentence: (the claim, where it starts, where it ends)."""
    done, places = own
    for start, verb in places:
        match = done.match(sentence, verb)
        if match is not None and not hindered(sentence, start, match.end()) and not _of_words(action, sentence, verb):
            bare = start == 0 and not _LEAD.match(sentence)
            return Claim(action.name, sentence[start : match.end()][:200], bare), verb, match.end()
    match = passive.search(sentence)
    if match is not None and _RELATIVE.search(match.group()) is None and _OTHERS.search(sentence, 0, match.start()) is None and not hindered(sentence, match.start(), match.end()) and not _HISTORY.match(sentence[match.end() :]):  # fmt: skip
        return Claim(action.name, match.group()[:200], True), match.start(), match.end()
    match = None if sentence.isascii() else chinese.search(sentence)
    if (
        match is not None
        and not sentence.startswith("的", match.end())
        and not hindered(sentence, match.start(), match.end())
    ):
        return Claim(action.name, match.group()[:200], not match.group().startswith("我")), match.start(), match.end()
    return None


def _of_words(action: Action, sentence: str, verb: int) -> bool:
    """Whether what was done was done to words of the answer itself: `I updated the draft`."""
    return action.name in _WORDS_ALONE and _WORDING.match(sentence, verb) is not None


def hindered(sentence: str, start: int, end: int) -> bool:
    """Whether the clause up to the end of a match denies it, plans it, asks it or tells it of somebody else."""
    boundary = 0
    for match in _BOUNDARY.finditer(sentence, 0, start):
        boundary = match.end()
    clause = sentence[boundary:end]
    return (
        _HINDERED.search(clause) is not None
        or _INVERTED.match(sentence) is not None
        or _HINDERED_CN.search(clause) is not None
        or sentence[0] == "据"
    )


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
