"""By action: the words in names of tools that can do it, and what a text that tells of it holds."""

from __future__ import annotations

from typing import NamedTuple


class Telling(NamedTuple):
    """What a tool is called that does an action, and how its results tell of it."""

    tools: frozenset[str]
    """Words in names of tools that can do it (their beginnings)."""
    stems: tuple[str, ...]
    """What every claim of it holds, and a result that tells of it, in lower case."""


def _telling(tools: str, stems: str) -> Telling:
    return Telling(frozenset(tools.split()), tuple(stems.replace("_", " ").split()))


TELLING: dict[str, Telling] = {
    "refund": _telling(
        "adjust billing charge chargeback compensat credit goodwill money pay payment refund reimburs revers transfer waiv",
        "refund reimburs credited waived reversed 退款 退费 退还 退回",
    ),
    "send": _telling(
        "alert call chat comment contact email escalat event fax forward inform invit invoice mail meeting message notif page pager pagerduty phone post publish remind reply respond send share slack sms submit teams text ticket whatsapp",
        "sent mail notif texted messag forward dispatch 发送 邮件 短信 通知 发出 寄出 发给",
    ),
    "cancel": _telling(
        "abort cancel close delete disable edit end modify patch refund remove revoke set stop terminat unsubscrib update void withdraw",
        "cancel void called_off terminat stopped 取消 退订 终止 撤销",
    ),
    "book": _telling(
        "add alarm appointment arrang basket book buy calendar cart checkout create edit event hold insert invite meeting move exchang issue order patch place purchas rebook remind replace reschedul reserv schedul set ship submit task update warrant",
        "book reserv schedul placed made arranged confirmed ordered 预订 预约 下单 安排",
    ),
    "create": _telling(
        "account add book case claim create deploy enrol escalat file generate init insert issue label log new open order post pr provision publish pull rais register request return schedul set start submit subscrib ticket upload write",
        "created opened filed raised submitted logged registered 创建 提交 开通 新建",
    ),
    "update": _telling(
        "activ add address adjust apply assign calendar chang configur correct deactiv decreas disabl downgrad edit enabl escalat event extend increas insert lower meeting merge migrat modif move patch plan priorit put remov renam replac reschedul reset save schedul schema set subscri switch sync toggl updat upgrad upsert write",
        "updated changed modified corrected switched upgraded moved extended enabled disabled rescheduled saved 更正 更新 修改 更改 变更 升级",
    ),
    "delete": _telling(
        "cancel clean clear close deactivat delet destroy drop edit empty eras evict flush git purg remov rm terminat trash unlink unsubscrib update wipe write",
        "delet remov eras wiped purged dropped cleared 删除 清除 移除 清空",
    ),
    "test": _telling(
        "build check ci jest lint pytest test verify",
        "test 通过 跑通",
    ),
    "ship_code": _telling(
        "article ci commit deploy git helm kubectl merg page pipeline post pr promot publish push rebas releas restart revert roll rollback rollout ship trigger update upgrad upload",
        "deploy merg push releas rolled publish commit promot 推送 部署 合并 上线 发布 回滚",
    ),
    "pay": _telling(
        "bill book charg checkout deposit fund invoice money move order pay payment payout purchas refund remit send settl subscri top topup transact transfer wire",
        "paid transfer charg wired settled 付款 转账 支付 缴 划转",
    ),
    "escalate": _telling(
        "add assign case create escalat flag forward hand handoff handover human notify page pass priority queue raise refer route send set tag ticket transfer update",
        "escalat handed assign owner passed routed forward 升级 转交 转接 指派 分配 负责人 处理人 派单",
    ),
    "account": _telling(
        "access account activ add assign ban block card change creat credential deactivat delet disabl edit enabl freeze frozen grant invite key lock member password patch permission regenerat remove report reset revoke role rotat send set share suspend unassign unblock unfreeze unlock update",
        "grant revok suspend frozen freez block disabled deactivat reset invit 开通 重置 解锁 冻结 停用 撤销 邀请 locked unlock",
    ),
    "restart": _telling(
        "cordon cycl deploy drain helm kill kubectl node patch pod reboot recreat redeploy relaunch replica restart rollout scal service start stop systemctl update",
        "restart reboot scaled killed drained cordoned 重启 扩容",
    ),
    "save": _telling(
        "add append archiv attach back backup copy create download drive dump edit export file generat insert memory move note post publish put record save snapshot store sync update upload write",
        "save upload export archiv back attach stored written 上传 保存 导出 归档 备份",
    ),
    "decide": _telling(
        "accept approv authoriz complet confirm decid decision declin reject respond review set sign submit update",
        "approv reject declin accept signed 批准 审批 驳回",
    ),
    "apply": _telling(
        "add adjust appl bonus compensat coupon credit discount extend goodwill grant issue loyalty points promo redeem refund reward set trial update voucher",
        "appl credit discount voucher extend 优惠 补发 折扣",
    ),
    "close": _telling(
        "ack acknowledg alert mute silenc snooz archiv cancel case clos complet delet edit finish issue label mark merge patch reopen resolv set status tag ticket transition update",
        "clos resolv marked archiv 关闭 标记 结案 归档",
    ),
}
"""A word too many misses a false claim; a word too few raises a false alarm."""
