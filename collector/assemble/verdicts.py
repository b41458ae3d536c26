"""Brings the verdicts of the approvals index to the calls they are about, in whichever run those are."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass, field, replace
from typing import Protocol

from trailhound.canonical import stable_id
from trailhound.collector.assemble.altered import is_altered
from trailhound.collector.assemble.approvals import ApprovalIndex
from trailhound.collector.assemble.decisions import CallKey
from trailhound.collector.assemble.live import LiveRun
from trailhound.collector.assemble.news import News
from trailhound.collector.assemble.shelves import Carrier, Filed, Place
from trailhound.collector.assemble.told import call_key, call_of, carrier_key, told_by
from trailhound.collector.dialects import tells_of_pauses
from trailhound.config import Approvals as Settings
from trailhound.evaluators.tools import Tools
from trailhound.model import Approval, ApprovalVerdict, Run, Step

Find = Callable[[Step], tuple[LiveRun, Step] | None]
"""The run and the step of a span in memory."""
Judge = Callable[[LiveRun], None]
RunKey = tuple[str, str]

FOREVER_NS = 2**63 - 1
BAD = frozenset({"missing", "unknown", "denied"})


class Kept(Protocol):
    """Keeps what is filed across restarts."""

    def load(self) -> Iterable[Filed]:
        """What was filed before the part of the journal that is read again."""
        ...

    def add(self, filed: Filed) -> None:
        """Take what was filed, or filed anew."""
        ...


@dataclass(slots=True)
class _File:
    """What one run in memory has filed."""

    place: Place
    calls: dict[CallKey, Step] = field(default_factory=dict)
    carriers: dict[Carrier, Step] = field(default_factory=dict)
    unshown: dict[tuple[str, str], dict[CallKey, None]] = field(default_factory=dict)
    """Calls whose framework tells of a pause only after the call, by the agent's span, which has not come yet: by trace
    and parent, as one agent is above all of them."""
    cut: bool = False
    """Content of the run was cut by its sender, when the calls were last asked about."""


class Verdicts:
    """Asks the index about every high-risk call that is new, and again whenever something it depends on came.

    A bad verdict is `held` for `approvals.hold` after the call was received, as evidence may travel separately.
    """

    def __init__(self, settings: Settings, tools: Tools, find: Find, judge: Judge, kept: Kept | None = None) -> None:
        """`judge` is called with every run in which a verdict changed, but the one that is being settled."""
        self.index = ApprovalIndex(settings)
        self._hold_ns = int(settings.hold * 1e9)
        self._tools, self._find, self._judge, self._kept = tools, find, judge, kept
        self._files: dict[RunKey, _File] = {}
        self._steps: dict[CallKey, tuple[RunKey, Step]] = {}
        self._held: dict[CallKey, int] = {}
        self._due: list[tuple[int, CallKey]] = []
        self._now_ns = 0
        self.segment = 0
        """Journal segment that is being read."""
        self.late: dict[tuple[str, str], None] = {}
        """(tenant, trace id) of runs that left memory with a bad verdict that evidence has changed since."""
        if kept is not None and tools.any_high_risk:
            for filed in kept.load():
                (self.index.learn if filed.call is None else self.index.add)(filed)

    # ------------------------------------------------------------ what is new

    def settle(self, run: LiveRun, news: News) -> None:
        """Take what is new in a run."""
        if not self._tools.any_high_risk:
            return
        key = (run.run.tenant, run.run.trajectory_id)
        file, place = self._files.get(key), _place(run)
        risky = [step for step in news.calls if step.tool is not None and self._tools.needs_approval(step)]
        if file is None:
            if not risky and not news.evidence:
                return
            file = self._files[key] = _File(place)
        touched = [k for step in news.gone for k in self._gone(key, file, step)]
        touched += file.calls if bool(run.calls.cut) != file.cut else self._newly_shown(run, file, news)
        file.cut = bool(run.calls.cut)
        moved: list[Step] = []
        if file.place != place:
            file.place, moved = (
                place,
                [s for s in (*file.carriers.values(), *file.calls.values()) if self._home(s) is run],
            )
        evidence = [s for s in news.evidence if self._home(s) in (None, run)]  # what left is filed by its new run
        for step in {id(s): s for s in (*moved, *evidence, *risky)}.values():
            touched += self._take(run, file, step)
        self._ask(touched, run)

    def _home(self, step: Step) -> LiveRun | None:
        return (self._find(step) or (None, None))[0]

    def hear(self, said: Step) -> None:
        """Take the decision in a log record, which needs no span."""
        told = self._telling(said.approvals)
        if not told or not self._tools.any_high_risk:
            return
        names = (
            f"session:{said.session_id}" if said.session_id else "",
            f"trace:{said.trace_id}" if said.trace_id else "",
        )
        places = tuple((said.tenant, name) for name in names if name)
        # the same word of the same moment in two sessions is two
        word = stable_id(said.service, said.session_id or "", said.span_id, *map(repr, map(astuple, told)))
        key = (said.tenant, "log", word)
        self._ask(self._learn(Filed(key, places, said.received_ns, told, segment=self.segment)))

    def _telling(self, decisions: Iterable[Approval]) -> tuple[Approval, ...]:
        """Those that may be about a high-risk call."""
        return tuple(d for d in decisions if d.tool is None or self._tools.of(d.tool).high_risk)

    def _gone(self, key: RunKey, file: _File, step: Step) -> list[CallKey]:
        """The step is no call any more, at least not of this run."""
        call = call_key(step)
        if file.calls.get(call) is not step:
            return []
        del file.calls[call]
        if self._steps.get(call, (None,))[0] != key:  # another run has it by now
            return []
        del self._steps[call]
        return self.index.forget(call)

    def _take(self, run: LiveRun, file: _File, step: Step) -> list[CallKey]:
        key = (run.run.tenant, run.run.trajectory_id)
        places = (file.place, (step.tenant, f"trace:{step.trace_id}"))
        touched: list[CallKey] = []
        if not step.synthetic:
            carrier = carrier_key(step)
            if carrier in file.carriers or step.approvals or step.status in ("pending", "denied"):
                file.carriers[carrier] = step
                touched += self._learn_from(step, places)
        if step.tool is None or not step.counted or not self._tools.needs_approval(step):
            run.approve(step, None)  # it may have looked like a call that needs one before
            return touched
        if step.status == "pending":
            run.approve(step, None)
            return touched + self._gone(key, file, step)
        for voice in run.calls.voices(step):
            touched += self._learn_from(voice, places)
        call = call_of(step)
        file.calls[call.key], self._steps[call.key] = step, (key, step)
        filed = Filed(call.key, places, step.received_ns, call=call, segment=self.segment)
        return touched + self.index.add(filed)

    def _learn_from(self, step: Step, places: tuple[Place, ...]) -> list[CallKey]:
        told = self._telling(told_by(step))
        return self._learn(Filed(carrier_key(step), places, step.received_ns, told, segment=self.segment))

    def _learn(self, filed: Filed) -> list[CallKey]:
        before = self.index.filed(filed.key)
        touched = self.index.learn(filed)
        if (
            self._kept is not None
            and (before is not None or filed.decisions)
            and self.index.filed(filed.key) is not before
        ):
            self._kept.add(filed)
        return touched

    # ------------------------------------------------------------ verdicts

    def _ask(self, keys: Iterable[CallKey], settling: LiveRun | None = None) -> None:
        changed: dict[int, LiveRun] = {}
        for key in dict.fromkeys(keys):
            filed = self.index.filed(key)
            if filed is None or filed.call is None:
                continue
            live = self._steps.get(key)
            known = self._find(live[1]) if live is not None else None
            if live is None or known is None:
                self._ask_late(key, filed)
                continue
            if (known[0].run.tenant, known[0].run.trajectory_id) != live[0]:
                continue  # it has just become another run's, which asks when it is settled
            verdict = self._verdict(key, known[0], live[1])
            self._note(filed, verdict)
            if known[0].approve(live[1], verdict):
                changed[id(known[0])] = known[0]
        for run in changed.values():
            if run is not settling:
                self._judge(run)

    def _verdict(self, key: CallKey, run: LiveRun, step: Step) -> ApprovalVerdict:
        altered = step.tool is not None and is_altered(run.calls.requests(step.tool.call_id), step.tool)
        shown = self._shown(key, run, step)
        verdict = self.index.verdict(key, shown=shown, cut=bool(run.calls.cut), altered=altered)
        if step.status == "denied":
            own = ApprovalVerdict("denied", None, f"{step.trace_id}/{step.span_id}")
            return verdict if verdict.verdict == "denied" else own
        due = step.received_ns + self._hold_ns
        if verdict.verdict not in BAD or due <= self._now_ns:
            self._held.pop(key, None)
            return verdict
        if key not in self._held:
            self._held[key] = due
            heapq.heappush(self._due, (due, key))
        return replace(verdict, held=True)

    def _shown(self, key: CallKey, run: LiveRun, step: Step) -> bool:
        """Whether we would have seen that somebody was asked: the framework tells of pauses, content is captured, and all
        that happened between the model's request for the call and the call itself is in the run."""
        told, tool, file = tells_of_pauses(step), step.tool, self._files[run.run.tenant, run.run.trajectory_id]
        if told == "gate":
            return any(voice.kind == "approval" for voice in run.calls.voices(step))
        if not told or tool is None or tool.arguments is None or not (step.synthetic or run.calls.asked(tool)):
            return False
        if told == "before" or run.has_agent(step):
            return True
        file.unshown.setdefault((step.trace_id, step.parent_span_id), {})[key] = None
        return False

    def _newly_shown(self, run: LiveRun, file: _File, news: News) -> Iterator[CallKey]:
        """The calls of which we may see only now that somebody would have been asked."""
        for step in news.hints:
            if step.kind == "tool":
                yield call_key(step)
            for call in step.tool_requests:
                if self._tools.of(call.name).high_risk:
                    yield from self.index.alike(file.place, call)
        for above, keys in list(file.unshown.items()):
            first = next((step for step in map(file.calls.get, keys) if step is not None), None)
            if first is None or run.has_agent(first):
                yield from file.unshown.pop(above)

    def _ask_late(self, key: CallKey, filed: Filed) -> None:
        """The call's run has left memory: it comes back when evidence speaks for the call after all."""
        assert filed.call is not None
        if filed.verdict in BAD and self.index.verdict(key, shown=False).verdict not in BAD:
            self.late[key[0], key[1]] = None

    def _note(self, filed: Filed, verdict: ApprovalVerdict) -> None:
        if filed.verdict != verdict.verdict:
            filed.verdict = verdict.verdict
            if self._kept is not None:
                self._kept.add(filed)

    # ------------------------------------------------------------ time

    def advance(self, now_ns: int) -> None:
        """Say of the calls that have waited long enough for evidence what there is to say."""
        self._now_ns = max(self._now_ns, now_ns)
        self.index.expire(now_ns)
        self._release(now_ns)

    def end(self) -> None:
        """The input has ended and nothing is waited for any more."""
        self._now_ns = FOREVER_NS
        self._release(FOREVER_NS)

    def _release(self, now_ns: int) -> None:
        over: list[CallKey] = []
        while self._due and self._due[0][0] <= now_ns:
            _, key = heapq.heappop(self._due)
            if self._held.pop(key, None) is not None:
                over.append(key)
        self._ask(over)

    def holds(self, run: LiveRun) -> bool:
        """Whether something of the run still waits for evidence."""
        file = self._files.get((run.run.tenant, run.run.trajectory_id))
        return file is not None and any(key in self._held for key in file.calls)

    def about(self, run: Run) -> list[Filed]:
        """What is filed that may matter to the calls of a run, which need not be in memory."""
        session = [] if run.session_id is None else [f"session:{run.session_id}"]
        names = [*session, *(f"trace:{trace_id}" for trace_id in run.trace_ids), "always"]
        return self.index.about((run.tenant, name) for name in names)

    def forget(self, run: LiveRun) -> None:
        """The run leaves memory; what is filed stays, so that an approval stays used and later evidence finds the call."""
        key = (run.run.tenant, run.run.trajectory_id)
        file = self._files.pop(key, None)
        for call in file.calls if file is not None else ():
            if self._steps.get(call, (None,))[0] == key:
                del self._steps[call]
                self._held.pop(call, None)


def _place(run: LiveRun) -> Place:
    session = run.session_id
    return (run.run.tenant, f"run:{run.run.trajectory_id}" if session is None else f"session:{session}")
