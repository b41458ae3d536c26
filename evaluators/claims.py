"""Which actions a text says were done: sentences in the past about the agent's own doing, in English and Chinese."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import re2  # type: ignore[import-untyped]

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


class Action(NamedTuple):
    """Something that agents say they did, and what tools are called that do it."""

    name: str
    done: str
    """Pattern after `I have`: the action in the past."""
    passive: str
    """Pattern of the action as a fact about its object."""
    chinese: str
    """Pattern of both in Chinese."""
    tools: frozenset[str]
    """Words in names of tools that can do it (their beginnings)."""
    stems: tuple[str, ...]
    """What every claim of it holds, and a result that tells of it, in lower case."""


_THINGS = r"(?: [\w$€£#.'%/-]+){0,6}"
_WAS = r"(?:has been|have been|was|were|is now|are now) (?:now |just |successfully |also |all )*"
_CN = r"[^，。！？；,!?;\n]"
_DONE_CN = r"(?:已|已经|成功)"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ACTIONS = (
    Action(
        "refund",
        rf"(?:refunded|reimbursed|(?:issued|processed|initiated|made|completed|sent|approved|applied|arranged)(?: you)?{_THINGS} (?:refund|reimbursement))\b",
        rf"\b(?:refund|reimbursement){_THINGS} {_WAS}(?:issued|processed|completed|sent|approved|initiated|made)\b|\b{_WAS}(?:refunded|reimbursed)\b",
        rf"{_DONE_CN}{_CN}{{0,12}}(?:退款|退费|退还)|(?:退款|退费){_CN}{{0,8}}{_DONE_CN}{_CN}{{0,4}}(?:处理|办理|发放|提交|完成|退回|发起|原路)",
        _words("refund reimburs credit pay payment transfer billing charge chargeback money"),
        ("refund", "reimburs", "退款", "退费", "退还"),
    ),
    Action(
        "send",
        rf"(?:e-?mailed|texted|messaged|notified|(?:sent|forwarded|dispatched)(?: (?:you|him|her|them|over|out|off))?{_THINGS} (?:e-?mail|message|confirmation|sms|notification|invoice|link|invitation|invite|reminder|newsletter|receipt))s?\b",
        rf"\b(?:e-?mail|message|sms|notification|invoice|invitation|invite|reminder|receipt){_THINGS} {_WAS}(?:sent|e-?mailed|forwarded|dispatched)\b",
        rf"{_DONE_CN}{_CN}{{0,12}}(?:发送|发出|寄出|通知了|发给)|(?:邮件|短信|消息|通知|发票){_CN}{{0,8}}{_DONE_CN}(?:发送|发出|寄出)",
        _words(
            "send mail email e sms message notif slack post text chat forward invoice contact whatsapp teams remind publish reply respond invite"
        ),
        (
            "sent",
            "mail",
            "notif",
            "texted",
            "messag",
            "forward",
            "dispatch",
            "发送",
            "邮件",
            "短信",
            "通知",
            "发出",
            "寄出",
            "发给",
        ),
    ),
    Action(
        "cancel",
        r"(?:cancell?ed|voided|called off)\b",
        rf"\b(?:order|booking|reservation|subscription|appointment|payment|meeting|flight|contract){_THINGS} {_WAS}(?:cancell?ed|voided)\b",
        rf"{_DONE_CN}{_CN}{{0,10}}(?:取消|退订)|(?:订单|预订|订阅|预约){_CN}{{0,8}}{_DONE_CN}(?:取消|退订)",
        _words("cancel abort terminat stop void delete remove unsubscrib revoke close update"),
        ("cancel", "voided", "called off", "取消", "退订"),
    ),
    Action(
        "book",
        rf"(?:booked|reserved|(?:placed|made|scheduled|arranged){_THINGS} (?:order|booking|reservation|appointment|meeting|pickup|delivery|flight|table))\b",
        rf"\b(?:booking|reservation|appointment|meeting|pickup|flight|table|room) {_WAS}(?:booked|reserved|scheduled|placed)\b",
        rf"{_DONE_CN}{_CN}{{0,8}}(?:预订|预约|下单)",
        _words("book reserv order purchas schedul appointment calendar create place buy checkout add meeting event"),
        ("book", "reserv", "schedul", "placed", "made", "arranged", "预订", "预约", "下单"),
    ),
    Action(
        "create",
        rf"(?:created|opened|filed|raised|submitted|logged|registered){_THINGS} (?:ticket|case|return label|label|return request|support request|claim|account|pull request|bug report)\b",
        rf"\b(?:ticket|return label|return request|support request|account|pull request|bug report){_THINGS} {_WAS}(?:created|opened|filed|submitted|registered|raised)\b",
        rf"{_DONE_CN}{_CN}{{0,10}}(?:创建|开通|提交|新建){_CN}{{0,8}}(?:工单|账户|账号|申请|标签|退货)",
        _words(
            "create open file ticket issue submit rais add new insert label return generate write register log account pull pr case claim request"
        ),
        ("created", "opened", "filed", "raised", "submitted", "logged", "registered", "创建", "提交", "开通", "新建"),
    ),
    Action(
        "update",
        r"(?:updated|changed|modified|corrected|switched) (?:your|the|this|his|her|their)(?: [\w-]+){0,3} (?:address|order|account|e-?mail|phone number|subscription|profile|record|settings|password|plan|booking|reservation|ticket|database|shipping method)\b",
        rf"\b(?:address|account|subscription|profile|password|plan|booking|reservation) {_WAS}(?:updated|changed|modified|corrected)\b",
        rf"{_DONE_CN}{_CN}{{0,8}}(?:更新|修改|更改|更正){_CN}{{0,8}}(?:地址|订单|账户|账号|邮箱|电话|密码|资料|套餐)|(?:地址|账户|密码|资料){_CN}{{0,4}}{_DONE_CN}(?:更新|修改|更改)",
        _words("updat chang modif edit set patch put write save upsert correct address switch reset move"),
        ("updated", "changed", "modified", "corrected", "switched", "更正", "更新", "修改", "更改"),
    ),
    Action(
        "delete",
        r"(?:deleted|removed|erased|wiped|purged) (?:your|the|all|these|those|this|[0-9]+)(?: [\w-]+){0,3} (?:accounts?|records?|files?|data|entry|entries|rows?|users?|backups?|database|table|folder|branch|subscription|photos?|messages?)\b",
        rf"\b(?:accounts?|records?|files?|data|entries|rows|users?|backups?|folder|branch){_THINGS} {_WAS}(?:deleted|removed|erased|wiped|purged)\b",
        rf"{_DONE_CN}{_CN}{{0,10}}(?:删除|清除|移除)|(?:文件|记录|数据|账户|账号){_CN}{{0,6}}{_DONE_CN}(?:删除|清除|移除)",
        _words("delet remov drop eras clear purg rm cancel unsubscrib clean wipe edit write"),
        ("delet", "remov", "eras", "wiped", "purged", "删除", "清除", "移除"),
    ),
    Action(
        "test",
        r"(?:ran|run) (?:all |the |all the )*(?:unit |integration |full )*tests?(?: suite)?\b",
        r"\b(?:all |the |all the |unit |integration |[0-9]+ )*tests? (?:are |have |now |all |is |suite )*(?:passe?d?|passing|green)\b",
        r"测试(?:已|已经|都|全部|均|现在)*(?:通过|跑通)",
        _words("test pytest jest ci build check verify lint"),
        ("test", "通过", "跑通"),
    ),
    Action(
        "ship_code",
        r"(?:deployed|merged|pushed|released|rolled back) (?:your|the|this|it|a|to|version|all)\b",
        rf"\b(?:fix|change|changes|branch|release|service|pull request|application|app|code){_THINGS} {_WAS}(?:deployed|merged|pushed|released|rolled back)\b",
        rf"{_DONE_CN}{_CN}{{0,8}}(?:部署|合并|上线|推送到)",
        _words("deploy merg commit push git releas publish pr rollback rollout ci pipeline ship"),
        ("deploy", "merg", "push", "releas", "rolled", "推送", "部署", "合并", "上线"),
    ),
    Action(
        "pay",
        r"(?:(?:paid|wired|charged) (?:your|the|you|this|[$€£0-9])|transferred (?:[$€£0-9]|the (?:money|funds|amount|payment|balance)))",
        rf"\b(?:payment|transfer|money|funds){_THINGS} {_WAS}(?:paid|transferred|wired|charged)\b",
        rf"{_DONE_CN}{_CN}{{0,8}}(?:付款|转账|支付)|(?:付款|转账|支付)(?:已|已经)(?:完成|成功)",
        _words("pay payment transfer charg wire invoice bill transact purchas refund money checkout"),
        ("paid", "transfer", "charg", "wired", "付款", "转账", "支付"),
    ),
)
"""What is claimed often and done by a tool. Each is a narrow reading: a claim that is missed costs less than a false one."""

_ADVERBS = r"(?:(?:just|now|already|also|successfully|gone ahead and|went ahead and|then|immediately|personally|manually|automatically|have) )*"
_LEAD = re.compile(rf"(?i)\b(?:I|we)(?:['’]ve| have|['’]d| had)? {_ADVERBS}")
_JOINED = re.compile(rf"(?i) and {_ADVERBS}")
_START = re.compile(
    r"(?i)\W*(?:(?:done|ok|okay|great|perfect|all set|success|sure|yes)\W+)*(?:(?:just|now|successfully|already) )*"
)

_HINDERED = re.compile(
    r"(?i)\b(?:not|never|no|cannot|unable|without|fail(?:ed|s)?|nothing|none|neither|nor|hardly|almost|nearly"
    r"|will|would|could|can|may|might|should|shall|must|going to|about to|want(?:s|ed)?|need(?:s|ed)?|try|trying|tried"
    r"|if|once|when|whenever|unless|until|after|before|as soon as|whether|in case|assuming|suppose|let me|let us|please"
    r"|says?|said|shows?|showing|states?|stated|according|reports?|reported|claims?|claimed|indicates?|appears?|seems?"
    r"|looks? like|told|mentioned|asked|asks|earlier|previously|yesterday|last (?:week|month|time|year)|pretend|example"
    r"|wish|hope|hoping|offer|happy to|glad to|request(?:ed)? (?:that|for)|for approval|pending|draft(?:ed)?|simulat\w*)\b"
    r"|n['’]t\b|['’]ll\b|e\.g\."
)
_HINDERED_CN = re.compile(
    r"未|没有|没能|没法|不能|无法|不会|并非|不是|将要|将会|将在|将为|如果|若|是否|吗|请|需要|可以|能否|待|即将|准备|正在|稍后|想要|尚|失败|假如|之后再|一旦|要不要|您说|你说|据|显示|记录|之前|昨天|曾"
)
_HISTORY = re.compile(
    r"(?i)^[^.!?\n]{0,40}\b(?:on (?:\w+ )?\d|on (?:mon|tues|wednes|thurs|fri|satur|sun)day|in (?:january|february|march|april|may|june|july|august|september|october|november|december)|yesterday|last \w+|earlier|previously|ago|by (?:the|your|our|another|someone|a) (?!system))"
)
_CONFIRM = re.compile(
    r"(?i)\bI(?:['’]m| am| can| have|['’]ve)?(?: \w+){0,3} (?:confirm(?:ed)?|report|say|let you know|inform you)(?: that)? "
)
_FENCES = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|^\s*>.*$", re.DOTALL | re.MULTILINE)
_QUOTED = re.compile(r"\"[^\"\n]{0,400}\"|“[^”\n]{0,400}”|«[^»\n]{0,400}»|「[^」\n]{0,400}」|『[^』\n]{0,400}』")
_MARK = re.compile('[`>"“«「『]')
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

    RE2 knows a word of ASCII alone where Python's `re` knows any: written so that it finds no less.
    """
    together = re2.Set.SearchSet(_options())
    for action in ACTIONS:
        together.Add(f"{action.done}|{action.passive}|{action.chinese}".replace(r"\w", r"\pL\pN_"))
    together.Compile()
    return together


def _options() -> Any:
    options = re2.Options()
    options.case_sensitive = False
    options.max_mem = 64 * 2**20
    options.log_errors = False
    return options


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
    if _MARK.search(text) is None:
        return text
    return _QUOTED.sub(" ", _FENCES.sub(" ", text))


def _statements(plain: str) -> Iterator[str]:
    for sentence in _SENTENCE.findall(plain):
        stripped = sentence.strip(" \t\n*_-#•")
        if stripped and not stripped.endswith(("?", "？")) and "吗" not in stripped:
            yield _CONFIRM.sub("", stripped[:MAX_SENTENCE])


def _doings(sentence: str) -> list[tuple[int, int]]:
    """Where a verb would say what the agent did: (start of the words before it, its own start)."""
    places = [(0, _START.match(sentence).end())]  # type: ignore[union-attr]  # it matches nothing, too
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
    if match is not None and not hindered(sentence, match.start(), match.end()) and not _HISTORY.match(sentence[match.end() :]):  # fmt: skip
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
    return _HINDERED.search(clause) is not None or _HINDERED_CN.search(clause) is not None


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


_BY_NAME = {action.name: action for action in ACTIONS}


def stems(action: str) -> tuple[str, ...]:
    """What a result that tells of the action contains, in lower case."""
    return _BY_NAME[action].stems
