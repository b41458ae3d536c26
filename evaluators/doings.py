"""How it is said in English and Chinese that something was done: patterns made from a verb and what it was done to."""

from __future__ import annotations

from typing import NamedTuple

_ADVERBS = (
    r"(?:(?:now|just|already|also|both|all|fully|partially|successfully|permanently|temporarily|safely|finally) )*"
)
_HAS_BEEN = rf"(?:(?:has|have) {_ADVERBS}been|(?:is|are) now) {_ADVERBS}"
_WAS = rf"(?:(?:has|have) {_ADVERBS}been|was|were|(?:is|are) now) {_ADVERBS}"
_WORD = r" [\w$€£#.'’%/&-]+(?:,[0-9]+)*"
_WORDS = rf"(?:{_WORD}){{1,8}}? "
_OPERATED = r"(?:records?|tickets?|cases?|issues?|accounts?|users?|cards?|deployments?|services?|jobs?|pods?|nodes?|servers?|instances?|containers?|columns?|tables?|rows?|buckets?|files?|folders?|backups?|databases?|prices?|quantity|orders?|bookings?|reservations?|appointments?|visits?|meetings?|interviews?|windows?|deliver(?:y|ies)|pickups?|payments?|transfers?|deposits?|invoices?|fees?|charges?|complaints?|packages?|pull requests?|branch(?:es)?|commits?|releases?|passwords?|keys?|tokens?|permissions?|rights|roles?|subscriptions?|memberships?|sessions?|events?|reminders?|labels?|threads?|claims?|authentication|alerts?|limits?|listings?|requests?)"
"""Things that agents' tools handle: of a law or a film the same words would be news."""
_YOUR = rf"(?:your|his|her){_WORDS}"
_THE_THING = rf"(?:\A(?:[\w#-]+ ){{0,2}}?|\b(?:the|this|that|these|those|their|both|all|an?|[0-9]+)(?:{_WORD}){{0,3}}? ){_OPERATED}(?:{_WORD}){{0,6}}? "
_SUBJECT = rf"(?:(?:your|the|this|that|these|those|his|her|their|our|both|all|an?|[0-9]+){_WORDS}|(?:both|all|everyone|everybody|they|_) )"
_CN = r"[^，。！？；,!?;\n]"
_AGENT_CN = r"(?:帮|为|给|替)(?:您|你|客户)"


class Doing(NamedTuple):
    """The verbs of one action. All are alternatives of a pattern, most telling first; empty: none."""

    done: str = ""
    """Participles that tell an action whatever follows: `I cancelled ...`."""
    base: str = ""
    """The same verbs as they stand after `I managed to`."""
    was: str = ""
    """Participles that tell it of what is the user's in the past (`your deposit was paid`), of anything in the perfect."""
    been: str = ""
    """Participles that tell it of what is the user's, in the perfect: laws and features have been changed, too."""
    short: str = ""
    """Things and what was done with them, said without a verb of being: `Refund issued`."""
    chinese: str = ""
    """Verbs in Chinese."""
    chinese_short: str = ""
    """Verbs in Chinese that are too short, or too ambiguous, to be told without a doer: `我在群里发了`."""


def active(doing: Doing) -> str:
    """Pattern of what stands after `I have`."""
    ways = []
    if doing.done:
        ways.append(rf"(?:{doing.done})\b")
    if doing.was:
        ways.append(rf"(?:got|gotten|had)(?: [\w$€£#.'’%-]+){{1,5}} (?:{doing.was})\b")
    if doing.base:
        ways.append(rf"(?:was |were )?(?:managed to|been able to|able to)(?: also)? (?:{doing.base})\b")
    if doing.was and doing.base:
        ways.append(
            rf"(?:was |were )?(?:managed to|been able to|able to) (?:get|have)(?: [\w$€£#.'’%-]+){{1,5}} (?:{doing.was})\b"
        )
    return "|".join(ways)


def passive(doing: Doing) -> str:
    """Pattern of the action as a fact about its object, and of the notes that leave the verb out."""
    ways = []
    if doing.was:
        ways.append(rf"\b{_YOUR}{_WAS}(?:{doing.was})\b|\b{_SUBJECT}{_HAS_BEEN}(?:{doing.was})\b")
    if doing.been:
        ways.append(rf"\b{_YOUR}{_HAS_BEEN}(?:{doing.been})\b")
    if anything := either(doing.was, doing.been):
        ways.append(rf"{_THE_THING}{_WAS}(?:{anything})\b")
    if doing.short:
        ways.append(
            rf"\A(?:the |your )?(?:[\w#-]+ ){{0,3}}(?:{doing.short})(?: successfully)?(?:[.!]|$|: ?[$€£]| (?:to|for|and) )"
        )
    return "|".join(ways)


def chinese(doing: Doing) -> str:
    """Pattern of both in Chinese: with a mark of what is over (已, 成功, 了, 完成) before or after the verb."""
    ways = []
    verbs = doing.chinese
    if verbs:
        ways = [
            rf"(?:已经?|成功|刚刚|刚才){_CN}{{0,16}}(?:{verbs})",
            rf"我{_CN}{{0,12}}(?:{verbs})(?:了|好|完成?|完毕|成功)",
            rf"{_AGENT_CN}{_CN}{{0,12}}(?:{verbs})(?:了|好了?|完成|完毕|成功)",
            rf"(?:{verbs})(?:已经?)?(?:成功|完成|完毕|生效)(?:[，。！：,!:]|$)",
            rf"(?:我|{_AGENT_CN}){_CN}{{0,8}}[把将]{_CN}{{1,16}}(?:{verbs}){_CN}{{1,12}}了(?:[，。！,!]|$)",
        ]
    if doing.chinese_short:
        ways.append(
            rf"(?:我{_CN}{{0,14}}|{_AGENT_CN}{_CN}{{0,6}}|已经{_CN}{{0,10}})(?:{doing.chinese_short})(?:好|完|出|到|给|掉|下来)?了"
        )
    return "|".join(ways)


def hint(doing: Doing) -> str:
    """Pattern of what every text holds that one of the three finds: a small one, which many texts are asked for at once."""
    able = rf"(?:managed|able) to(?: also)? (?:{doing.base})" if doing.base else ""
    briefly = rf"(?:{doing.chinese_short})(?:好|完|出|到|给|掉|下来)?了" if doing.chinese_short else ""
    return either(doing.done, doing.was, doing.been, doing.short, able, doing.chinese, briefly)


def either(*patterns: str) -> str:
    """Alternatives of a pattern, without the empty ones."""
    return "|".join(filter(None, patterns))
