"""Brings the verdicts of the approvals index to the calls they are about, in whichever run those are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from trailhound.collector.assemble.altered import is_altered
from trailhound.collector.assemble.approvals import ApprovalIndex
from trailhound.collector.assemble.filed import CallKey, Filed, Kept, Place, Seen
from trailhound.collector.assemble.holding import Holding
from trailhound.collector.assemble.live import LiveRun
from trailhound.collector.assemble.news import News
from trailhound.collector.assemble.records import TraceKey, filed_of, in_run, trace_of
from trailhound.collector.assemble.run_file import RunFile
from trailhound.collector.assemble.showing import hinted
from trailhound.collector.assemble.told import by_session, call_key, call_of, carrier_key, told_by
from trailhound.config import Approvals as Settings
from trailhound.evaluators.tools import Tools
from trailhound.model import Approval, ApprovalVerdict, Run, Step

Find = Callable[[Step], tuple[LiveRun, Step] | None]
"""The run and the step of a span in memory."""
HomeOf = Callable[[TraceKey], LiveRun | None]
"""The one run in memory that a trace is in."""
Judge = Callable[[LiveRun], None]
RunKey = tuple[str, str]

FOREVER_NS = 2**63 - 1
BAD = frozenset({"missing", "unknown", "denied"})


class Verdicts:
    """Asks the index about every high-risk call that is new, and again whenever something it depends on came.

    A bad verdict is `held` for `approvals.hold` after the call was received, as evidence may travel separately.
    """

    def __init__(self, settings: Settings, tools: Tools, find: Find, home_of: HomeOf, judge: Judge, kept: Kept | None = None) -> None:  # fmt: skip
        """`judge` is called with every run in which a verdict changed, but the one that is being settled."""
        self.index = ApprovalIndex(settings)
        self._holding = Holding(int(settings.hold * 1e9))
        self._tools, self._find, self._home_of, self._judge, self._kept = tools, find, home_of, judge, kept
        self._files: dict[RunKey, RunFile] = {}
        self._steps: dict[CallKey, tuple[RunKey, Step]] = {}
        self.segment = 0
        """Journal segment that is being read."""
        self.late: dict[tuple[str, str], None] = {}
        """(tenant, trace id) of runs that left memory, and of whose calls there is something else to say since."""
        if kept is not None and tools.any_high_risk:
            for filed in kept.load():
                (self.index.learn if filed.call is None else self.index.add)(filed)

    # ------------------------------------------------------------ what is new

    def settle(self, run: LiveRun, news: News) -> None:
        """Take what is new in a run."""
        if not self._tools.any_high_risk:
            return
        key = (run.run.tenant, run.run.trajectory_id)
        file, place, user = self._files.get(key), _place(run), run.names[1] or ""
        risky = [step for step in news.calls if step.tool is not None and self._tools.needs_approval(step)]
        records = self._told_in(run, file)
        if file is None:
            if not risky and not news.evidence and not records:
                return
            file = self._files[key] = RunFile(place, user)
        touched = [k for step in news.gone for k in self._gone(key, file, step)]
        touched += [k for step in news.gone if carrier_key(step) in file.carriers for k in self._told_anew(file, step)]
        touched += hinted(news, self.index, self._tools, file.place)
        touched += file.calls if bool(run.calls.cut) != file.cut else file.showing.newly(run, file.calls)
        file.cut = bool(run.calls.cut)
        moved: list[Step] = []
        if (file.place, file.user) != (place, user):
            file.place, file.user = place, user
            moved = [s for s in (*file.carriers.values(), *file.calls.values()) if self._home(s) is run]
        evidence = [s for s in news.evidence if self._home(s) in (None, run)]  # what left is filed by its new run
        for step in {id(s): s for s in (*moved, *evidence, *risky)}.values():
            touched += self._take(run, file, step)
        for filed in records:
            touched += self._learn(in_run(filed, place, user))
        self._ask(touched, run)

    def _home(self, step: Step) -> LiveRun | None:
        return (self._find(step) or (None, None))[0]

    def hear(self, said: Step) -> None:
        """Take the decision in a log record, which needs no span."""
        told = self._telling(said.approvals)
        if not told or not self._tools.any_high_risk:
            return
        filed = filed_of(said, told, self.segment)
        trace = trace_of(filed)
        run = self._home_of(trace) if trace is not None else None
        if run is not None:
            filed = in_run(filed, _place(run), run.names[1] or "")
        elif trace is not None and (before := self.index.filed(filed.key)) is not None:
            filed.places, filed.user = before.places, before.user
        elif trace is not None:
            self.late[trace] = None  # its run, if it had one, may have calls in other traces
        self._ask(self._learn(filed))

    def _told_in(self, run: LiveRun, file: RunFile | None) -> list[Filed]:
        """What records told in the traces of a run, when it must be filed anew."""
        if not self.index.any_loose:
            return []
        run.write_header()
        traces, tenant = run.run.trace_ids, run.run.tenant
        if file is not None and file.traces is traces and (file.place, file.user) == (_place(run), run.names[1] or ""):
            return []
        if file is not None:
            file.traces = traces
        own = (trace for trace in traces if self._home_of((tenant, trace)) is run)
        return [filed for trace in own for filed in self.index.loose((tenant, trace))]

    def _telling(self, decisions: Iterable[Approval]) -> tuple[Approval, ...]:
        """Those that may be about a high-risk call."""
        return tuple(d for d in decisions if d.tool is None or self._is_risky(d.tool))

    def _is_risky(self, tool: str) -> bool:
        return self._tools.of(tool).high_risk

    def _gone(self, key: RunKey, file: RunFile, step: Step) -> list[CallKey]:
        """The step is no call any more, at least not of this run."""
        call = call_key(step)
        if file.calls.get(call) is not step:
            return []
        del file.calls[call]
        if self._steps.get(call, (None,))[0] != key:  # another run has it by now
            return []
        del self._steps[call]
        return self.index.forget(call)

    def _told_anew(self, file: RunFile, step: Step) -> list[CallKey]:
        """The step, which told of a decision, is no call any more, or one of another run: file what it tells there."""
        found, carrier = self._find(step), carrier_key(step)
        if found is None:
            return []
        (run, now), new = found, RunFile(_place(found[0]), found[0].names[1] or "")
        home = self._files.setdefault((run.run.tenant, run.run.trajectory_id), new)
        if home is not file and carrier in file.named:
            home.named[carrier] = file.named.pop(carrier)
        del file.carriers[carrier]
        home.carriers[carrier] = now
        return self._learn_from(now, home)

    def _take(self, run: LiveRun, file: RunFile, step: Step) -> list[CallKey]:
        key = (run.run.tenant, run.run.trajectory_id)
        places = (file.place, (step.tenant, f"trace:{step.trace_id}"))
        touched: list[CallKey] = []
        if not step.synthetic:
            carrier = carrier_key(step)
            if carrier in file.carriers or step.approvals or step.status in ("pending", "denied"):
                file.carriers[carrier] = step
                touched += self._learn_from(step, file)
        if step.tool is None or not step.counted or not self._tools.needs_approval(step):
            run.approve(step, None)  # it may have looked like a call that needs one before
            return touched
        if step.status == "pending":
            run.approve(step, None)
            return touched + self._gone(key, file, step)
        for voice in run.calls.voices(step):
            touched += self._learn_from(voice, file)
        call = call_of(step, self.index.filed(call_key(step)))
        file.calls[call.key], self._steps[call.key] = step, (key, step)
        filed = Filed(call.key, places, step.received_ns, call=call, segment=self.segment, user=file.user)
        return touched + self.index.add(filed)

    def _learn_from(self, step: Step, file: RunFile) -> list[CallKey]:
        """File what a span tells: each decision in the session that it names, else in that of its run."""
        carrier, touched = carrier_key(step), list[CallKey]()
        told = by_session(self._telling(told_by(step, self._is_risky)))
        for named in {**told, **file.named.get(carrier, {})}:
            place, user = ((step.tenant, f"session:{named[0]}"), named[1]) if named else (file.place, "")
            user = user or (file.user if place == file.place else "")
            places = (place, (step.tenant, f"trace:{step.trace_id}"))
            filed = Filed((*carrier, *named), places, step.received_ns, told.get(named, ()), segment=self.segment)
            filed.user = user
            touched += self._learn(filed)
        if len(told) > 1:
            file.named[carrier] = dict.fromkeys(told)
        return touched

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
        asked = dict.fromkeys(keys)
        for key in self._with_altered(asked):
            filed, known = self.index.filed(key), self._known(key)
            if filed is None or filed.call is None:
                continue
            if known is None:
                self._ask_late(key, filed)
                continue
            run, step = known
            if (run.run.tenant, run.run.trajectory_id) != self._steps[key][0] or not step.counted:
                continue  # it has just become another run's, or no call: its run says so when it is settled
            if run.approve(step, self._verdict(filed, run, step)):
                changed[id(run)] = run
        for run in changed.values():
            if run is not settling:
                self._judge(run)

    def _known(self, key: CallKey) -> tuple[LiveRun, Step] | None:
        """The run of a call and its step, while they are in memory."""
        live = self._steps.get(key)
        known = self._find(live[1]) if live is not None else None
        return None if live is None or known is None else (known[0], live[1])

    def _with_altered(self, keys: dict[CallKey, None]) -> dict[CallKey, None]:
        """File anew those of the calls that turn out to have run with other arguments than the model asked for, or not;
        returns all that are to be asked about because of that, too."""
        waiting = list(keys)
        for key in waiting:
            filed, known = self.index.filed(key), self._known(key)
            if filed is None or filed.call is None or known is None or known[1].tool is None:
                continue
            altered = is_altered(known[0].calls.requests(known[1].tool.call_id), known[1].tool)
            if altered != filed.call.altered:
                filed = replace(filed, call=replace(filed.call, altered=altered))
                waiting += [each for each in self.index.add(filed) if each not in keys]
                keys.update(dict.fromkeys(waiting))
                if self._kept is not None:
                    self._kept.add(filed)
        return keys

    def _verdict(self, filed: Filed, run: LiveRun, step: Step) -> ApprovalVerdict:
        key, file = call_key(step), self._files[run.run.tenant, run.run.trajectory_id]
        seen = Seen(file.showing.shown(key, run, step), bool(run.calls.cut), step.status == "denied")
        verdict = self.index.verdict(key, seen)
        self._note(filed, verdict, seen)
        if verdict.verdict not in BAD or seen.refused:
            self._holding.let_go(key)
        elif self._holding.hold(key, step.received_ns):
            return replace(verdict, held=True)
        return verdict

    def _ask_late(self, key: CallKey, filed: Filed) -> None:
        """The call's run has left memory: it comes back when there is something else to say of the call now."""
        if filed.seen is None or self.index.verdict(key, filed.seen) != filed.verdict:
            self.late[key[0], key[1]] = None

    def _note(self, filed: Filed, verdict: ApprovalVerdict, seen: Seen) -> None:
        """Keep what was said, which is compared with what there is to say once the run has left memory."""
        if (filed.verdict, filed.seen) != (verdict, seen):
            filed.verdict, filed.seen = verdict, seen
            if self._kept is not None:
                self._kept.add(filed)

    # ------------------------------------------------------------ time

    def advance(self, now_ns: int) -> None:
        """Say of the calls that have waited long enough for evidence what there is to say."""
        self.index.expire(now_ns)
        self._ask(self._holding.release(now_ns))

    def end(self) -> None:
        """The input has ended and nothing is waited for any more."""
        self._ask(self._holding.release(FOREVER_NS))

    def holds(self, run: LiveRun) -> bool:
        """Whether something of the run still waits for evidence."""
        file = self._files.get((run.run.tenant, run.run.trajectory_id))
        return file is not None and self._holding.any_of(file.calls)

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
                self._holding.let_go(call)


def _place(run: LiveRun) -> Place:
    session = run.names[0]
    return (run.run.tenant, f"run:{run.run.trajectory_id}" if session is None else f"session:{session}")
