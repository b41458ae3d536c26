"""Whether words in a text are said to its reader, or only mentioned: forbidden, quoted, listed, told of others."""

from __future__ import annotations

import re

_LOOKED = 400
"""Characters before and after a match that are looked at."""
_END = re.compile(r"(?<!e\.g)(?<!i\.e)(?<!etc)[.!?][\"'”’)\]]*(?:\s|\\n|$)|[。！？]|\n|\\n|\",\"|\":\"|-->")
"""Where a sentence ends, also in text that was written as JSON."""
_DENIED = re.compile(
    r"(?i)(?:\b(?:must|should|may|can|shall|will|do|does|did|is|are)(?: not|n['’]t)|\b(?:cannot|can['’]t|don['’]t|never|not to|nobody|no one"
    r"|(?:asks?|asked|asking|tells?|telling|told|tricks?|tricked|convinces?|persuades?|instructs?|instructing) (?:you|us|people|them|users?|customers?|him|her|me|a model|the model|models?|an? \w+|the \w+) to"
    r"|(?:try|tries|trying|attempts?|attempting|wants?|refuses?|refused|failed|able|how) to|without|instead of|whether|who|which|that)|(?:不要|不得|切勿|请勿|禁止|严禁|要求你|让你))[^.!?。\n]{0,40}\Z"
)
"""A prohibition, or what somebody else is said to do: up to the match, in its sentence."""
_OPENED = re.compile(
    r"(?:[^\W_][,:]? |[(（]|[\u4e00-\u9fff，：、])(?:\\?\"[^\"\n]*|“[^”\n]*|[「『‘][^」』’\n]*|`[^`\n]*|'(?:[^'\n]|(?<=\w)'(?=\w))*)\Z|[\[(=,]\s*['`]\Z"
)
"""A quotation that began inside of a sentence and has not ended. One that is all of a field (`"text": "...`) is the text itself."""
_ABOUT = re.compile(
    r"(?i)\b(?:prompt[- ]injections?|injection attacks?|jail ?breaks?|attackers?|attacks?|payloads?|adversarial|phishing|malicious|red[- ]team\w*|owasp|cve-\d|block ?lists?|deny ?lists?|blocked|banned|rejects?|detect(?:s|ed|ion)?|the (?:phrase|words|string|text|sentence)s?)\b|注入|攻击|恶意"
)
"""The sentence speaks about such instructions."""
_INTRODUCED = re.compile(
    r"(?i)(?:\b(?:such as|like|for (?:example|instance)|e\.g\.)|例如|比如)[:：]? ?(?:(?:\"[^\"\n]*\"|“[^”\n]*”|'[^'\n]*'|`[^`\n]*`)(?:,| |and|or|、|和|或)*)*\W{0,5}\Z"
)
"""Named as one of a kind: up to the match, with others in quotes before it."""
_APART = re.compile(r"(?i)(?:^|[.!?\n>]\s*|\\n)(?:for (?:example|instance)|e\.g\.|例如|比如)\W{0,3}\Z")
"""... unless nothing is said before: then it is an order with an idle word before it."""
_ITEM = re.compile(r"\s*(?:[-*•+>|]|[0-9]{1,3}[.)]|[\"“'`]|$)")
_INTRODUCES = re.compile(r"\s*#|.*[:：]\W*\Z")
_TOPIC = re.compile(rf"{_ABOUT.pattern}|\b(?:examples?|tests?|prompts?|samples?)\b|例|测试")
_LINES = re.compile(r"\n|\\n")
_LABELLED = re.compile(r"(?i)[^\n|]*\|[^\n]{0,40}\b(?:injections?|attacks?|jailbreaks?|malicious|blocked|unsafe)\b")
"""What follows in a row of a table that says what the text is."""
_IDENTIFIER = re.compile(r"[A-Za-z]{2,}_[A-Za-z]{3,}")
"""A name in code. Single letters with marks between them are words that hide."""
_NOUN = re.compile(
    r" (?!(?:and|or|but|to|in|on|at|of|from|that|which|you|given|above|before|below|so|now|with|by|for|as|if|when|then|here|instead|please|because|since|is|are|was|were|has|have|no)\b)[a-z]{3}"
)
"""Behind one word for an order it is the first part of another word: `instruction cache`."""
_OBJECT = re.compile(
    r"(?i) (?:your|their|his|her|our|its|the|an?|any|internal|what (?:the|our)) (?!(?:above|note|message|text|truth)\b)\w"
)
"""What people are told or not told in a handbook; an order to be silent says `about this`, or nothing more."""
_SIGNS = frozenset({"template", "hidden"})
"""Kinds that are marks, not words: they are forbidden nowhere, and told of nobody."""


def is_meant(kind: str, text: str, start: int, end: int) -> bool:
    """Whether what matched from `start` to `end` is said to the reader: not forbidden, not quoted, not told of others.

    A word about attacks silences only the sentence that it stands in, and the list that its sentence introduces.
    """
    if kind == "hidden":
        return True
    if _in_code(kind, text, start, end):
        return False
    before = text[max(0, start - _LOOKED) : start].replace('\\"', '"')
    sentence = _sentence(before)
    if _OPENED.search(_LINES.split(before)[-1]) or _ABOUT.search(sentence) or _introduced(sentence):
        return False
    if _listed(before) or (_row(before) and _LABELLED.match(text, end, end + _LOOKED)):
        return False
    if kind == "secrecy":
        return not text[end - 1].isascii() or _OBJECT.match(text, end) is None
    return kind in _SIGNS or _DENIED.search(before) is None


def _in_code(kind: str, text: str, start: int, end: int) -> bool:
    """Whether the words are names of a program, or of something in one."""
    if kind != "override":
        return False
    if _IDENTIFIER.search(text, start, end) is not None:
        return True
    return text[start:end].lower().endswith("instruction") and _NOUN.match(text, end) is not None


def _sentence(before: str) -> str:
    """The part of the last sentence that stands before the match."""
    begins = 0
    for match in _END.finditer(before.rstrip()):
        begins = match.end()
    return before[begins:]


def _introduced(sentence: str) -> bool:
    return _INTRODUCED.search(sentence) is not None and _APART.search(sentence) is None


def _listed(before: str) -> bool:
    """Whether the match stands in a list whose heading, or the line that introduces it, speaks about such texts."""
    *above, line = _LINES.split(before)
    if not above or _ITEM.match(line) is None:
        return False
    for each in reversed(above):
        if _INTRODUCES.match(each):
            return _TOPIC.search(each) is not None
        if _ITEM.match(each) is None:
            return False
    return False


def _row(before: str) -> bool:
    return _LINES.split(before)[-1].lstrip().startswith("|")
