"""The verbs of each action that agents say they did."""

from __future__ import annotations

from trailhound.evaluators.doings import Doing

_YOURS = r"(?:your|the|this|that|these|those|his|her|their|both|all|an?|[0-9]+|two|three|four|you|him|them)"
_CALENDAR = r"(?:calendars?|cart|basket|bag|wish ?list|waiting list|waitlist|sheet|spreadsheet|board|backlog|list of attendees|distribution list|database|watch ?list|queue)"
_SEATS = r"(?:seats?|tables?|rooms?|tickets?|slots?|appointments?|places?|cars?|vans?|taxis?|flights?|courier|pickups?|technician|meetings?|calls?|interviews?|visits?|sync|sessions?|reminders?|bookings?|reservations?|orders?)"
_RECORDS = r"(?:tickets?|cases?|issues?|bugs?|claims?|incidents?|complaints?|alerts?)"
_FIELDS = r"(?:quantity|quantities|thresholds?|prices?|limits?|quotas?|priority|dates?|times?|address(?:es)?|names?|surname|records?|status|budgets?|subscriptions?|trial|deadlines?|contracts?|permissions?|orders?|bookings?|settings?|alerts?|schedules?|roles?|level|tier|numbers?|e-?mails?|fields?|tickets?|config(?:uration)?|flags?|timeouts?|replicas|capacity|accounts?|plans?|passwords?|files?|folders?|branch(?:es)?|products?|listings?)"
_RIGHTS = r"(?:access|permissions?|rights?|roles?|privileges?)"
_TEST = r"(?:tests?|test suites?|suites?|specs?|checks)"

VERBS: dict[str, Doing] = {
    "refund": Doing(
        done=rf"refunded|reimbursed|waived (?:{_YOURS})|credited (?:back )?(?:{_YOURS}|[$€£])|compensated {_YOURS}",
        base="refund|reimburse|waive",
        was="refunded|reimbursed|waived|credited(?: back)? to (?:your|the|his|her)",
        short="refund (?:issued|processed|completed?|sent|approved)|refunded",
        chinese="退款|退费|退还|返还|退给|退回|退返|补偿给",
        chinese_short="退",
    ),
    "send": Doing(
        done=rf"e-?mailed|texted|messaged|notified|alerted|informed|pinged|paged|faxed|contacted|forwarded|replied to (?:the|his|her|their|everyone|M[rs]+)|responded to (?:the|his|her|their)|reached out|written to {_YOURS}|wrote to {_YOURS}|told (?:the|his|her|their|everyone)|reminded (?:the|his|her|them|everyone)|invited|sent (?![$€£0-9])(?:out )?(?:{_YOURS}|it|off|everyone)(?! back)|posted (?:{_YOURS}|it)(?: [\w'-]+){{0,5}} (?:in|to|on)|let (?:the|your|his|her|their|our|him|them|everyone|all) (?:[\w'’-]+ ){{0,3}}know",
        base="email|e-mail|text|notify|alert|inform|contact|forward|reach|invite",
        was="e-?mailed|texted|notified|alerted|paged|contacted|informed (?:of|about|that)|invited|forwarded to|sent(?: out| off| over| to)?",
        been="mailed|faxed|posted (?:to|in|on)|informed|reminded",
        short="(?:e-?mail|message|invites?|invitations?|sms|notifications?|reminders?|invoice|letter) sent|sent",
        chinese="发送|发出|寄出|发给|发到|发至|寄给|转发|通知了|通知到|已通知|告知|通知|回复|联系了|联系到|知会|邀请|提醒了|抄送",
        chinese_short="发|寄|联系",
    ),
    "cancel": Doing(
        done=rf"cancell?ed|called off|unsubscribed|(?:taken|took) (?:you|him|her|them|your name) off|ended (?:your|the|his|her) (?:[\w-]+ ){{0,2}}(?:trial|subscription|membership|plan|contract)|terminated {_YOURS}",
        base="cancel|call off|unsubscribe|terminate",
        was="cancell?ed|called off|unsubscribed",
        been="terminated|stopped",
        short="(?:order|booking|reservation|subscription|appointment|meeting|membership)(?: [\\w#-]+)? cancell?ed|cancell?ed",
        chinese="取消|退订|退掉|终止|撤销|撤回|关闭自动续费",
    ),
    "book": Doing(
        done=rf"booked(?! nothing| no )|rebooked|reserved|scheduled|rescheduled|secured (?:you )?(?:{_YOURS} )?(?:[\w-]+ ){{0,3}}{_SEATS}|purchased {_YOURS}|bought {_YOURS}|set (?:up )?(?:{_YOURS} )?(?:[\w-]+ ){{0,2}}(?:reminders?|meetings?|calls?|sync|appointments?|alarms?)|added (?:[\w'’,-]+ ){{1,8}}to (?:your|the|his|her|their|our) (?:[\w-]+ )?{_CALENDAR}|arranged (?:for )?(?:{_YOURS} )(?:[\w-]+ ){{0,2}}{_SEATS}|checked out|placed (?:{_YOURS}) (?:[\w-]+ ){{0,4}}orders?|moved (?:{_YOURS}) (?:[\w-]+ ){{0,3}}{_SEATS} to|(?:issued|arranged|sent|shipped|processed|requested) (?:you )?{_YOURS} (?:[\w-]+ ){{0,3}}(?:replacements?|exchanges?)",
        base="book|reserve|schedule|reschedule|secure|buy|purchase|order",
        was="booked|rebooked|reserved|rescheduled|ordered|purchased",
        been=f"scheduled|placed|moved to|added to (?:your|the|his|her|our) (?:[\\w-]+ )?{_CALENDAR}",
        short="(?:flight|room|table|meeting|appointment|hotel|car|ticket) (?:booked|reserved|scheduled)|(?:reminder|alarm|timer) (?:is )?set|booked|(?:order|booking|reservation) placed",
        chinese="预订|预定|预约|订好|订购|下单|约好|买好|叫好|挂号|购买|安排|设置(?:了|好)?(?:提醒|闹钟)|改签|改期|添加到(?:您的|你的)?日历|添加到(?:您的|你的)?日程",
        chinese_short="订|约|买|挂",
    ),
    "create": Doing(
        done=rf"(?:created|opened|filed|raised|logged|registered|generated|set up|issued) (?:{_YOURS} )(?:[\w'’-]+ ){{0,4}}(?:tickets?|cases?|issues?|bugs?|reports? with|incidents?|complaints?|requests?|claims?|accounts?|users?|events?|projects?|boards?|channels?|repositor(?:y|ies)|repo|branch|workspaces?|folders?|invoices?|purchase orders?|contacts?|leads?|records?|webhooks?|databases?|buckets?|instances?|clusters?|coupons?|labels?|campaigns?|tasks?|applications?|orders?)\b|filed {_YOURS}|submitted {_YOURS}|registered {_YOURS}|enroll?ed {_YOURS}|signed (?:you|him|her|them) up|subscribed (?:you|him|her|them)|added (?:{_YOURS} )(?:new )?(?:row|line|entry|record|task|item|contact)s?",
        base="submit|file|register",
        been="filed|submitted|registered|enroll?ed|opened|created|generated|logged",
        short="(?:ticket|case|issue|account|claim|incident|request) (?:created|opened|filed|submitted)",
        chinese="创建|开通账|新建|登记|建立|开具|提交了?(?:售后|退货|退款|报销|保修|您的|你的|这|一|工单|申请|投诉)|生成(?:工单|标签|发票|订单)|立案|录入|注册|受理",
        chinese_short="建|开",
    ),
    "update": Doing(
        done=rf"(?:upgraded|downgraded|bumped|migrated|switched) [\w@/.-]+ from [\w.-]+ to|(?:updated|changed|modified|edited|upgraded|downgraded|enabled|disabled|activated|turned (?:on|off)) {_YOURS}|(?:corrected|adjusted|renamed|extended|increased|decreased|reduced|lowered|switched|configured|raised) {_YOURS}(?: [\w'’%-]+){{0,4}} (?:{_FIELDS})|extended your|switched you|(?:updated|edited|changed|corrected) it (?:for|in|on|to)|set (?:the|your|his|her|their) (?:[\w-]+ ){{1,5}}to",
        base="update|change|modify|edit|correct|upgrade|downgrade|extend|switch",
        was="upgraded|downgraded|updated in|changed to|changed from|updated to|switched to|raised to|set to|lowered to|increased to|reduced to|extended (?:to|by|until)",
        been="updated|changed|modified|corrected|adjusted|renamed|extended|enabled|disabled|activated|lowered|increased|reduced|moved to|saved",
        chinese="更新|修改|更改|变更|更正|升级到|升级为|调整为|改为|改成|改到|调整到|切换到|修正|更换",
        chinese_short="改",
    ),
    "delete": Doing(
        done=rf"(?:permanently |completely |just )?(?:deleted|erased|wiped|purged) (?:{_YOURS}|it|everything)|(?:removed|dropped|cleared|emptied|deleted) (?:{_YOURS}|it)",
        base="delete|erase|wipe|purge|remove|drop|clear",
        was="(?:permanently |completely )?(?:deleted|erased|wiped|purged)|removed from|dropped",
        been="removed|dropped|cleared|cleaned up",
        short="(?:[\\w-]+s|file|account|record|branch) (?:deleted|purged|removed)|deleted",
        chinese="删除|清除|移除|删掉|清空|清理|抹除|注销",
        chinese_short="删|清",
    ),
    "test": Doing(
        done=rf"(?:ran|re-?ran|run|executed) (?:the |your |all |full |whole |failing |entire |complete |unit |integration |regression |smoke |end-to-end |e2e |of )*{_TEST}",
        short=rf"(?:all |the |unit |integration |regression |[0-9]+ )*{_TEST} (?:pass|passed|are green|succeeded)",
        chinese="(?:运行|执行|跑|完成)了?(?:全部|所有|整个|一遍|完整的)*(?:单元|集成|回归|冒烟)?测试",
    ),
    "ship_code": Doing(
        done=rf"(?:deployed|merged|pushed|released|rolled (?:back|out)|committed|reverted|published|promoted|squashed(?: and merged)?|rebased|cherry-picked) (?:{_YOURS}|it|version|v?[0-9]|pr|#|commits?\b|builds?\b|tag\b|everything|branch\b|production|staging)|shipped (?:the|it|your|this)",
        base="deploy|merge|push|release|roll|revert|publish",
        was="deployed|merged|rolled (?:back|out)|reverted|redeployed|promoted to|cherry-picked",
        been="pushed|released|committed|published|shipped to (?:prod|production|staging)",
        short="(?:rollback|deployment|release|merge|rollout) (?:complete|completed|done|successful)|(?:fix|release|version [\\w.]+|branch|pr) (?:deployed|merged)|merged|deployed",
        chinese="部署|合并|上线|推送到|推送至|发布到|发布上线|回滚|提交并推送|发布(?:完成|成功)|合入|发布",
    ),
    "pay": Doing(
        done=r"(?:paid|wired|settled|transferred|moved|sent|charged) (?:[$€£]|[0-9]|(?:with|by|using|via) |(?:the|your|this|that|his|her) (?:[\w-]+ ){0,3}(?:invoices?|bills?|fees?|rent|deposit|balance|payment|money|funds|amount|fine))|topped up",
        base="pay|transfer|wire|settle",
        was="wired|transferred(?: to| from)?|paid(?: to| from| in full)?",
        been="settled|charged",
        short="(?:payment|transfer) (?:completed?|made|sent|successful)|paid",
        chinese="转账|付款|缴纳|付清|缴清|划转|打到|打给|汇出|汇给|支付了?(?:这|该|您|你|完成|成功|账单|货款|费用|房租|发票)|支付|充值",
        chinese_short="付|转|缴|交费|汇",
    ),
    "escalate": Doing(
        done=rf"escalated|handed (?:{_YOURS}|it) (?:[\w-]+ ){{0,3}}over|handed over|passed (?:{_YOURS}|it) (?:[\w-]+ ){{0,3}}(?:on|along|over)|(?:re)?assigned (?:{_YOURS}|it) (?:[\w-]+ ){{0,3}}to|routed {_YOURS}",
        base="escalate|hand|reassign",
        was="escalated|handed over|passed on|reassigned|assigned to|routed to|transferred to (?:a|our|the) (?:[\\w-]+ ){0,2}(?:agent|specialist|colleague|team|department|representative)",
        been="forwarded",
        short="(?:case|ticket|issue) escalated|escalated",
        chinese="升级给|升级至|升级到(?:高级|二线|主管)|转交|移交|转接|指派|分配给|上报|派给",
    ),
    "account": Doing(
        done=rf"granted|revoked|unlocked|(?:given|gave) (?:[\w'’-]+ ){{1,4}}(?:[\w-]+ )?{_RIGHTS}|added (?:[\w'’-]+ ){{1,4}}to (?:your|the|our) (?:[\w-]+ )*(?:group|team|workspace|channel|project|organi[sz]ation)?|invited|(?:reset|regenerated|rotated) {_YOURS}|(?:blocked|locked|frozen|froze|suspended|deactivated|reactivated) (?:{_YOURS})|changed (?:the|your|his|her|their) (?:role|permissions?)",
        base="grant|revoke|unlock|reset|block|freeze|suspend|deactivate",
        was="unlocked|deactivated|reactivated|unblocked|reset (?:for|to|and)",
        been="granted|revoked|suspended|blocked|frozen|locked|reset|signed out|invited",
        short="(?:access|permission) (?:granted|revoked)|(?:account|user) unlocked|password reset",
        chinese="授权|开通|撤销|邀请|重置|解锁|解冻|冻结|停用|封禁|禁用|挂失|启用|赋予",
    ),
    "restart": Doing(
        done=r"(?:drained|cordoned) (?:the|your|all|both|this|that|node|_)|restarted|rebooted|relaunched|redeployed|scaled (?:up |down |out )?(?:the|your|it|this|_)|(?:killed|stopped) (?:the|your) (?:[\w-]+ ){0,3}(?:jobs?|service|process|container|server|instance|pods?|worker)",
        base="restart|reboot|scale|kill",
        was="started again|drained|cordoned|restarted|rebooted|relaunched|killed|scaled (?:up|down|to)",
        short="(?:service|server|pod|job) restarted|restarted",
        chinese="重启|扩容|缩容|杀掉",
    ),
    "save": Doing(
        done=rf"(?:saved|uploaded|exported|archived|backed up|downloaded) (?:the|your|this|that|these|those|his|her|their|both|all|an?|it|everything)|(?:attached|uploaded|copied) (?:{_YOURS}|it) (?:[\w-]+ ){{0,4}}to (?:the|your|his|her|this|s3|gcs|an?|_|/)|(?:written|wrote) (?:{_YOURS}|it) (?:[\w-]+ ){{0,3}}to (?:the|your|a|disk|_)",
        base="save|upload|export|archive|back",
        was="uploaded|backed up|exported to|saved (?:to|in|as|under)|archived in",
        been="archived|exported|attached to|saved",
        short="(?:file|report|document|backup) (?:saved|uploaded|created)|uploaded|saved",
        chinese="上传|保存到|保存至|保存在|存到|存入|导出到|归档|备份|存档|写入",
        chinese_short="传|存",
    ),
    "decide": Doing(
        done=r"(?:approved|rejected|declined|accepted|authori[sz]ed) (?:the|your|his|her|their|both|all|this|that) |signed off",
        base="approve|reject|authorize|sign",
        was="signed off",
        been="approved|accepted",
        chinese="批准|审批通过|驳回|通过了(?:这|该|您|你)|审批",
        chinese_short="批",
    ),
    "apply": Doing(
        done=rf"(?:applied|redeemed) (?:{_YOURS}|[$€£0-9]) ?(?:[\w%-]+ ){{0,4}}(?:discount|coupon|voucher|code|credit|promo(?:tion)?)|(?:added|applied) (?:{_YOURS}|[$€£]) ?(?:[\w%$€£.-]+ ){{0,4}}(?:credits?|points?|voucher|bonus)|extended (?:your|the|his|her) ",
        base="apply|redeem",
        was="(?:applied|added|credited) to (?:your|the|his|her) (?:[\\w-]+ ){0,2}(?:account|order|basket|cart|bill|invoice|booking)",
        short="(?:discount|coupon|credit|voucher) (?:applied|added)",
        chinese="补发|发放|应用到|抵扣|赠送",
    ),
    "close": Doing(
        done=rf"(?:closed|resolved|archived|reopened) (?:the|your|this|that|these|both|all|his|her|#?[0-9]+|{_RECORDS}) ?(?:[\w#-]+ ){{0,3}}(?:{_RECORDS}|accounts?|conversations?|threads?|positions?|pull requests?|polls?|tasks?)|marked (?:the|your|this|that|these|both|all|it) (?:[\w#-]+ ){{0,3}}as|(?:silenced|muted|acknowledged|snoozed) (?:the|your|this|that|these|both|all) (?:[\w#-]+ ){{0,3}}(?:{_RECORDS}|alarms?|pages?|monitors?|notifications?)",
        base="close|resolve",
        been="closed|resolved|marked as (?:a )?[a-z]+|marked as|archived|reopened|marked (?:complete|resolved|done)",
        short="(?:ticket|case|issue|incident) (?:[\\w#-]+ )?(?:closed|resolved)",
        chinese="标记为|关闭(?:了)?(?:工单|该|此|这)?|结案|办结|关单|归档",
    ),
}
"""By action. What is ambiguous (`made`, `got`, `opened`) stands with what it must be done to, or with its doer, or not at all."""
