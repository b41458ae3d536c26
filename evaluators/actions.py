"""The actions that agents say they did, and how it is said in English and Chinese."""

from __future__ import annotations

from typing import NamedTuple

from trailhound.evaluators.doings import active, chinese, either, hint, passive
from trailhound.evaluators.verbs import VERBS


class Action(NamedTuple):
    """Something that agents say they did."""

    name: str
    done: str
    """Pattern after `I have`: the action in the past."""
    passive: str
    """Pattern of the action as a fact about its object."""
    chinese: str
    """Pattern of both in Chinese."""
    hint: str = ""
    """Pattern that a text holds wherever one of the three is found: a small one, as all are asked at once."""


_THINGS = r"(?: [\w$€£#.'%/-]+(?:,[0-9]+)*){0,7}"
_WAS = r"(?:(?:has|have) (?:now |just |already |also |successfully )*been|was|were|is now|are now) (?:now |just |successfully |also |all )*"
_MY = r"(?:your|the|this|that|these|those|his|her|their|our|both|all|an?)"
_TO_ACCOUNT = r"(?:to|on|onto|into) (?:your|the|his|her)(?: [\w-]+){0,3} (?:accounts?|cards?|mastercard|visa|paypal|wallet|bank|balance|payment method)"
_CN = r"[^，。！？；,!?;\n]"
_DONE_CN = r"(?:已|已经|成功)"


_SAID = (
    Action(
        "refund",
        rf"(?:refunded|reimbursed|(?:credited|returned|put|paid){_THINGS} back\b|(?:credited|returned){_THINGS} {_TO_ACCOUNT}|reversed{_THINGS} (?:charge|payment)|(?:issued|processed|initiated|made|completed|sent|approved|applied|arranged|triggered)(?: you)?{_THINGS} (?:refund|reimbursement))\b",
        rf"\b(?:refund|reimbursement){_THINGS} {_WAS}(?:issued|processed|completed|sent|approved|initiated|made|credited)\b|\b{_WAS}(?:fully |partially )?(?:refunded|reimbursed)\b|\b(?:charge|payment|money|amount|fee){_THINGS} {_WAS}(?:reversed|returned|credited back)\b|\b(?:refund|reimbursement){_THINGS} (?:is (?:now )?on its way|went through)\b",
        rf"{_DONE_CN}{_CN}{{0,12}}(?:退款|退费|退还|退给|退回)|我{_CN}{{0,8}}把{_CN}{{0,8}}退(?:给|回|还){_CN}{{0,6}}了|(?:退款|退费){_CN}{{0,8}}{_DONE_CN}{_CN}{{0,4}}(?:处理|办理|发放|提交|完成|退回|发起|原路)",
    ),
    Action(
        "send",
        rf"(?:sent(?! [$€£0-9]| back)|replied to(?! your)|pinged|informed|reached out to|let (?:\w+ ){{1,4}}know|left{_THINGS} (?:message|voicemail|note) for|shared{_THINGS} with|posted{_THINGS} (?:to|in|on)|(?:e-?mailed|texted|messaged|notified|(?:sent|forwarded|dispatched|mailed)(?: (?:you|him|her|them|over|out|off))?{_THINGS} (?:e-?mail|message|confirmation|sms|notification|invoice|link|invitation|invite|reminder|newsletter|receipt))s?\b|(?:sent|forwarded|mailed|e-?mailed) (?:the|your|an?|this|that|it|them|these|those|his|her|their)(?: [\w'-]+){{0,4}} to (?:you|him|her|them|all|your|the|his|her|our|M[rs]+\b|\w+@))",
        rf"\b(?:e-?mail|message|sms|notification|invoice|invitation|invite|reminder|receipt|confirmation|newsletter|report|contract|pdf|letter|document|file|summary){_THINGS} {_WAS}(?:sent|e-?mailed|forwarded|dispatched|mailed|shared)\b|\b{_WAS}(?:notified|informed)(?: by| via|\W|$)|\b(?:e-?mail|message|confirmation|invoice){_THINGS} is (?:now )?(?:on its way|in your inbox)\b",
        rf"{_DONE_CN}{_CN}{{0,12}}(?:发送|发出|寄出|通知了|发给|发到|转发|寄给|重新发送|同步给|告知)|我{_CN}{{0,8}}(?:给|向|把){_CN}{{0,10}}(?:发了|发给|发到|发送了|寄给){_CN}{{0,6}}|(?:邮件|短信|消息|通知|发票|报告|文件|合同){_CN}{{0,8}}{_DONE_CN}(?:发送|发出|寄出|发给|转发)",
    ),
    Action(
        "cancel",
        rf"(?:cancell?ed|voided|called off|(?:terminated|withdrawn|withdrew|stopped|ended|revoked) {_MY}(?: [\w'’-]+){{0,3}} (?:subscriptions?|memberships?|auto-?renewals?|renewals?|orders?|bookings?|reservations?|applications?|plans?|contracts?|requests?|payments?|deliver(?:y|ies)))\b",
        rf"\b(?:orders?|bookings?|reservations?|subscriptions?|appointments?|payments?|meetings?|flights?|contracts?|memberships?|trips?|tickets?|standing order|auto-?renewal|applications?){_THINGS} {_WAS}(?:cancell?ed|voided|terminated|withdrawn|stopped)\b|\Ayour (?:[\w-]+ ){{1,4}}is (?:cancell?ed|terminated)\b",
        rf"{_DONE_CN}{_CN}{{0,10}}(?:取消|退订|退掉|关闭)|(?:自动续费|会员|订阅){_CN}{{0,8}}{_DONE_CN}{_CN}{{0,4}}(?:关闭|取消|终止)|我{_CN}{{0,8}}(?:帮您|替您|给您|把){_CN}{{0,8}}(?:取消|退掉)(?:了|{_CN}{{0,10}})|(?:订单|预订|订阅|预约){_CN}{{0,8}}{_DONE_CN}(?:取消|退订)",
    ),
    Action(
        "book",
        rf"(?:booked(?! nothing| no )|reserved|scheduled {_MY}|ordered (?:[0-9]|{_MY})|(?:got|found) you{_THINGS} (?:seats?|tables?|rooms?|tickets?|slots?|appointments?)\b|put{_THINGS} on{_THINGS} calendars?|set up{_THINGS} (?:meeting|appointment|call|visit|session)|(?:placed|made|scheduled|arranged){_THINGS} (?:orders?|bookings?|reservations?|appointments?|meetings?|pickup|delivery|flights?|tables?|calls?|visits?))\b",
        rf"\b(?:bookings?|reservations?|appointments?|meetings?|pickup|flights?|tables?|rooms?|seats?|calls?|visits?){_THINGS} {_WAS}(?:booked|reserved|scheduled|placed)\b|\Ayour (?:[\w-]+ ){{1,8}}is (?:booked|reserved|confirmed)\b",
        rf"{_DONE_CN}{_CN}{{0,8}}(?:预订|预定|预约|下单|订好|叫好|挂上|约好)|我{_CN}{{0,10}}(?:订好|叫好|约好|预订好)了|(?:会议|机票|酒店|座位|房间|预约|会议室|出租车|车票){_CN}{{0,8}}{_DONE_CN}{_CN}{{0,4}}(?:预订|预定|预约|订好|叫好|安排)",
    ),
    Action(
        "create",
        rf"(?:created|opened|filed|raised|submitted|logged|registered|generated|set up){_THINGS} (?:(?:API |access )?(?:token|key)|user|report form|application|defect|form|ticket|case|return label|label|(?:[\w-]+ )?request|claim|account|pull request|bug report|bug|issue|incident|complaint|task)\b",
        rf"\b(?:ticket|return label|label|[\w-]+ request|application|claim|account|pull request|bug report|issue|incident|complaint|task|(?:support |new )case){_THINGS} {_WAS}(?:created|opened|filed|submitted|registered|raised|generated)\b",
        rf"{_DONE_CN}{_CN}{{0,10}}(?:创建|开通|提交|新建|生成){_CN}{{0,8}}(?:工单|账户|账号|申请|标签|退货|请求|投诉|报销单|单据)|我{_CN}{{0,6}}(?:帮您|替您|为您|给您){_CN}{{0,4}}(?:创建|提交|新建|生成)了|(?:工单|账户|账号|申请|标签|请求|投诉){_CN}{{0,4}}{_DONE_CN}(?:创建|开通|提交|新建|生成|建好)",
    ),
    Action(
        "update",
        r"(?:updated|changed|modified|corrected|switched|moved|set|renamed|increased|raised|reduced|lowered|upgraded|downgraded|extended|reset|rescheduled|adjusted) (?:your|the|this|his|her|their)(?: [\w'’-]+){0,6} (?:delivery|priority|quota|limit|status|title|last name|role|permissions?|project|due date|appointment|address|order|account|e-?mail|phone number|number|subscription|profile|record|settings|password|plan|booking|reservation|ticket|database|shipping method|date|time|name|details|information|preferences|payment method)\b",
        rf"\b(?:number|delivery|priority|quota|limit|status|address(?: on [\w-]+(?: [\w-]+)?)?|account|subscription|profile|password|plan|booking|reservation|phone number|(?:delivery |start |due )date|details|settings|preferences|payment method|record) {_WAS}(?:updated|changed|modified|corrected|switched|upgraded|downgraded|reset|rescheduled|moved|extended)\b",
        rf"{_DONE_CN}{_CN}{{0,8}}(?:更新|修改|更改|更正|升级|调整){_CN}{{0,8}}(?:地址|订单|账户|账号|邮箱|电话|密码|资料|套餐)|(?:地址|账户|密码|资料|电话|邮箱|订单|号码|套餐|姓名|时间|日期){_CN}{{0,4}}{_DONE_CN}{_CN}{{0,3}}(?:更新|修改|更改|升级|调整|改为|改成|改到)|我{_CN}{{0,6}}(?:改过来|改好|改成){_CN}{{0,6}}了|{_DONE_CN}(?:将|把){_CN}{{0,10}}(?:地址|账户|账号|密码|资料|电话|邮箱|订单|套餐){_CN}{{0,4}}(?:更新|修改|更改|改为|改成)",
    ),
    Action(
        "delete",
        r"(?:permanently )?(?:deleted|removed|erased|wiped|purged|dropped|cleaned up|cleared) (?:your|the|all|these|those|this|both|two|three|[0-9]+)(?: [\w'’-]+){0,4} (?:tables?|volumes?|devices?|credentials?|keys?|members?|profiles?|images?|containers?|instances?|permissions?|groups?|accounts?|records?|files?|data|entry|entries|rows?|users?|backups?|database|table|folders?|branch|branches|subscription|photos?|messages?|logs?|items?|documents?)\b",
        rf"\b(?:accounts?|records?|files?|data|entry|entries|rows?|users?|backups?|folders?|branch|messages?|logs?|photos?|documents?|profile|tables?|volumes?|credentials){_THINGS} {_WAS}(?:deleted|removed|erased|wiped|purged)\b",
        rf"{_DONE_CN}{_CN}{{0,16}}(?:删除|清除|移除|删掉)|我{_CN}{{0,6}}(?:都|全部|已)?(?:删掉|删除|清理)(?:干净)?了|(?:文件|记录|数据|账户|账号|备份|日志|信息){_CN}{{0,6}}{_DONE_CN}{_CN}{{0,8}}(?:删除|清除|移除|删掉)",
    ),
    Action(
        "test",
        r"(?:(?:ran|re-?ran|run|executed) (?:pytest\b|(?:all |the |all the )*(?:unit |integration |regression |end-to-end |e2e |full |whole |entire )*tests?(?: suite)?\b)|(?:verified|confirmed|checked)\b.{0,60} by running .{0,40}\btests?\b)",
        r"\b(?:all |the |all the |unit |integration |every |[0-9]+ )*tests? (?:are |have |now |all |is |suite )*(?:passe?[ds]?|passing|green)\b|\b[0-9]+ passed, (?:0|no) fail|\btests? (?:have been|were) (?:now |all |also )*(?:re-?)?(?:run|executed)\b",
        r"测试(?:用例)?(?:已|已经|都|全部|均|现在)*(?:通过|跑通|完成)|我(?:已|已经|刚|刚刚)?(?:重新)?(?:跑|运行|执行)(?:了|完)[^，。！？；,!?;\n]{0,8}(?:测试|用例)|已完成[^，。！？；,!?;\n]{0,4}测试",
    ),
    Action(
        "ship_code",
        r"(?:deployed|merged|pushed|released|rolled (?:back|out)|committed|reverted|published) (?:your|the|this|it|a|to|version|all|my|both)\b",
        rf"\b(?:fix|hotfix|change|changes|branch|release|service|pull request|application|app|code|version|patch|update|migration|commit){_THINGS} {_WAS}(?:deployed|merged|pushed|released|rolled back|rolled out|committed|reverted|published)\b|\A(?:your|the|this) (?:[\w-]+ ){{0,3}}(?:fix|hotfix|changes?|branch|release|pull request|patch|code) (?:is|are) (?:merged|deployed|live)\b|\A(?:version|release) [\w.]+ is (?:now )?(?:live|deployed|out)\b",
        rf"{_DONE_CN}{_CN}{{0,10}}(?:部署|合并|上线|推送到|发布到|回滚)|我{_CN}{{0,4}}(?:回滚|部署|合并|推送|发布)(?:了|到|至)",
    ),
    Action(
        "pay",
        r"(?:(?:paid|wired|charged|settled) (?:your|the|you|this|that|an?|[$€£0-9])|transferred (?:[$€£0-9]|the (?:money|funds|amount|payment|balance))|sent (?:[$€£]|[0-9])|topped up (?:your|the|his|her)|made (?:the|your|an?|this) (?:[\w-]+ ){0,2}(?:payment|transfer))",
        rf"\b(?:payment|transfer|money|funds|invoice|bill|rent|deposit|fee|balance|provider|supplier|[0-9]+ (?:EUR|USD|GBP|dollars|euros)){_THINGS} {_WAS}(?:paid|transferred|wired|charged|completed|made|settled)\b",
        rf"{_DONE_CN}{_CN}{{0,8}}(?:付款|转账|支付(?!账户|方式|宝|密码|渠道)|缴纳|付清|缴清)|我{_CN}{{0,8}}[^提，。](?:交|付|缴)(?:清|好)?了|(?:付款|转账|支付)(?:已|已经)(?:完成|成功)|(?:账单|费用|房租|款项|货款){_CN}{{0,4}}{_DONE_CN}(?:支付|付清|缴纳|转账)",
    ),
)
"""What is claimed often and done by a tool. Each is a narrow reading: a claim that is missed costs less than a false one."""

_NOT_SAID = Action("", "", "", "")


def _whole(name: str) -> Action:
    """The sayings of an action and what its verbs make together."""
    said = next((a for a in _SAID if a.name == name), _NOT_SAID)
    verbs = VERBS[name]
    return Action(
        name,
        either(said.done, active(verbs)),
        either(said.passive, passive(verbs)),
        either(said.chinese, chinese(verbs)),
        either(said.done, said.passive, said.chinese, hint(verbs)),
    )


ACTIONS = tuple(map(_whole, VERBS))
