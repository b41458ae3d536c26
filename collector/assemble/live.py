"""One run while it lives: its steps, what they add up to, and what the rules say of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from trailhound.collector.assemble.accounting import Accounting, has_usage
from trailhound.collector.assemble.calls import Calls
from trailhound.collector.assemble.header import Header
from trailhound.collector.assemble.life import Signs
from trailhound.collector.assemble.lineage import Lineage
from trailhound.collector.assemble.totals import RunningTotals
from trailhound.evaluators.judge import RuleSet, ScopeJudge
from trailhound.model import ApprovalVerdict, Finding, Run, Step, Trajectory


@dataclass(slots=True)
class News:
    """Calls of a run that are new or changed, calls that are gone, and steps that show a decision."""

    calls: list[Step] = field(default_factory=list)
    gone: list[Step] = field(default_factory=list)
    evidence: list[Step] = field(default_factory=list)


class Tree:
    """The spans of one trace in a run."""

    __slots__ = ("accounting", "lineage")

    def __init__(self) -> None:
        self.lineage = Lineage()
        self.accounting = Accounting(self.lineage)


class LiveRun:
    """A trajectory under construction. Work per span does not grow with the run, whatever the order of arrival."""

    def __init__(self, run: Run, rules: RuleSet) -> None:
        self.run = run
        self.findings: list[Finding] = []
        self.first_segment = self.last_segment = 0
        """Journal segments of its first and last record; the low-water mark needs them."""
        self._rules = rules
        self._news: dict[int, tuple[Step, bool]] = {}
        self._evidence: list[Step] = []
        self._clear()

    def _clear(self) -> None:
        self._trees: dict[str, Tree] = {}
        """By trace id; nearly always one."""
        self._shared = False
        """Whether several traces make up the run: their topmost steps then share one scope."""
        self._calls = Calls()
        self._header = Header()
        self._totals = RunningTotals()
        self._judge = ScopeJudge(self._rules, "trajectory", self.run.trajectory_id, self.run.tenant)
        self._members: dict[str, list[Step]] = {}
        """By scope: the steps whose agent that scope is."""
        self._agentless: set[str] = set()
        """Steps that do not name their agent themselves."""
        self._pending: dict[str, Step] = {}
        self._executed: set[tuple[str, str | None]] = set()

    # ------------------------------------------------------------ steps in

    def add(self, step: Step) -> None:
        """Take a step with a new span id."""
        if step.trace_id not in self._trees:
            if len(self._trees) == 1:
                self._share()
            self._trees[step.trace_id] = Tree()
        if step.agent is None:
            self._agentless.add(step.span_id)
        tree = self._trees[step.trace_id]
        tree.lineage.add(step)
        self._join_scopes(tree.lineage, step)
        self._count(tree, step)

    def _share(self) -> None:
        """A second trace joins: what stood at the top of the first is now one of several tops."""
        steps = self.release()
        self._shared = True
        for step in steps:
            self.add(step)

    def replace(self, step: Step) -> None:
        """Take a later report of a known span."""
        tree = self._trees[step.trace_id]
        old = tree.lineage.steps[step.span_id]
        if (old.parent_span_id, old.kind) != (step.parent_span_id, step.kind):
            self.rebuild([*(s for s in self.release() if s is not old), step])
            return
        self._leave(old)
        self._pending.pop(old.span_id, None)
        if step.agent is not None:
            self._agentless.discard(step.span_id)
        step.scope_id, step.agent, step.approval = old.scope_id, step.agent or old.agent, old.approval
        members = self._members.get(old.scope_id, [])
        members[:] = [step if s is old else s for s in members]
        tree.lineage.swap(step)
        self._count(tree, step)

    def rebuild(self, steps: Iterable[Step]) -> None:
        """Start over from exactly these steps; for the rare change that undoes what was built on it."""
        steps = list(steps)
        self.release()
        for step in steps:
            self.add(step)

    def release(self) -> list[Step]:
        """Give all spans' steps back as they were read, and forget them."""
        for step in self.steps():
            self._leave(step)
        steps = self._spans()
        for step in steps:
            step.counted, step.scope_id, step.approval = True, "", None
            step.agent = None if step.span_id in self._agentless else step.agent
        self._clear()
        return steps

    def take_out(self, trace_id: str) -> list[Step]:
        """Give the steps of one trace back, and go on without them."""
        steps = self.release()
        for step in steps:
            if step.trace_id != trace_id:
                self.add(step)
        return [s for s in steps if s.trace_id == trace_id]

    def hear(self, said: Step) -> bool:
        """Take what a log record says about a tool call, by its id; False when no span here has that call."""
        if said.approvals:
            self._evidence.append(said)
        filled = self._calls.hear(said)
        if filled is not None and _judged(filled):
            self._judge.put(filled)
            self._news[id(filled)] = (filled, True)
        return filled is not None or bool(said.approvals)

    def approve(self, step: Step, verdict: ApprovalVerdict | None) -> None:
        """Set what the approvals index says of a call; the rules look at it again."""
        if step.approval != verdict:
            step.approval = verdict
            if _judged(step):
                self._judge.put(step)

    def _join_scopes(self, lineage: Lineage, step: Step) -> None:
        own = self._members.get(step.span_id, [])
        if step.kind == "agent":
            for member in own:
                self._name_agent(member, step.agent)
        if own and (scope := self._label(lineage, lineage.scope(step.span_id))) != step.span_id:
            del self._members[step.span_id]
            for member in own:
                self._enter_scope(lineage, member, scope)
                if _judged(member):
                    self._judge.put(member)
        self._enter_scope(lineage, step, self._label(lineage, lineage.scope_of(step)))

    def _label(self, lineage: Lineage, top: str) -> str:
        """The scope's name. In a run of several traces all that has no parent is the run's own agent's: `""`."""
        step = lineage.steps.get(top) if self._shared else None
        return "" if step is not None and not step.parent_span_id else top

    def _enter_scope(self, lineage: Lineage, step: Step, scope: str) -> None:
        step.scope_id = scope
        self._members.setdefault(scope, []).append(step)
        agent = lineage.steps.get(lineage.scope_of(step))
        if agent is not None and agent.kind == "agent" and agent is not step:
            self._name_agent(step, agent.agent)
        for call in self._calls.of(step):
            call.scope_id = scope
            self._judge.put(call)

    def _name_agent(self, step: Step, name: str | None) -> None:
        if name is None or step.kind == "agent" or step.span_id not in self._agentless:
            return
        for each in (step, *self._calls.of(step)):
            if each.agent != name:
                each.agent = name
                if _judged(each):
                    self._news[id(each)] = (each, True)  # the session's rules follow each agent by its name

    def _count(self, tree: Tree, step: Step) -> None:
        for other in tree.accounting.add(step):
            if other is not step:
                self._leave(other, counted=not other.counted)
                self._enter(other)
        self._enter(step)
        if step.approvals:
            self._evidence.append(step)
        self._header.add(step, None if step.span_id in self._agentless else step.agent)
        self._note_pause(step)
        joined = self._calls.add(step)
        for call in joined.gone:
            self._leave(call)
        for call in joined.new:
            self._enter(call)
        for call in joined.filled:
            if call is not step and _judged(call):
                self._judge.put(call)
                self._news[id(call)] = (call, True)

    # ------------------------------------------------------------ what counts

    def _enter(self, step: Step) -> None:
        self._totals.put(step)
        if _judged(step):
            self._judge.put(step)
            self._news[id(step)] = (step, True)

    def _leave(self, step: Step, counted: bool | None = None) -> None:
        """Take a step out again, as it was counted before."""
        now, step.counted = step.counted, step.counted if counted is None else counted
        self._totals.take(step)
        if _judged(step):
            self._judge.drop(step)
            self._news[id(step)] = (step, False)
        step.counted = now

    def _note_pause(self, step: Step) -> None:
        if step.status == "pending":
            self._pending[step.span_id] = step
        elif step.kind == "tool" and step.tool is not None and step.status in ("ok", "error", "denied"):
            self._executed.add((step.tool.name, step.tool.call_id))
            self._executed.add((step.tool.name, step.tool.arguments_hash))

    def _taken_up(self, step: Step) -> bool:
        """Whether a paused step was resumed in this run: its call ran, or the agent went on under a later root."""
        if step.tool is not None:
            key = step.tool.call_id if step.tool.call_id is not None else step.tool.arguments_hash
            return (step.tool.name, key) in self._executed
        root = self._header.last_root.value
        return root is not None and root.start_ns > step.start_ns and root.status != "pending"

    # ------------------------------------------------------------ what it is

    def signs(self) -> Signs:
        root = self._header.last_root.value
        return Signs(
            root_ended=root is not None and root.end_ns > 0 and not self._asks(root),
            root_failed=root is not None and self._header.failed,
            paused=any(not self._taken_up(s) for s in self._pending.values()),
            last_received_ns=self._header.last_received_ns,
        )

    def _asks(self, root: Step) -> bool:
        """Whether a bare model call at the top asked for a tool: the client will go on, most likely in another trace."""
        return root.kind == "llm" and any(call.status == "open" for call in self._calls.of(root))

    @property
    def session_id(self) -> str | None:
        return self._header.session_id.value

    @property
    def has_steps(self) -> bool:
        return bool(self._trees)

    def take_news(self) -> News:
        """What changed since the last call."""
        changed = list(self._news.values())
        news = News(
            [s for s, present in changed if present], [s for s, present in changed if not present], self._evidence
        )
        self._news, self._evidence = {}, []
        return news

    def judged(self) -> list[Step]:
        """The steps that rules see."""
        return [s for s in self.steps() if _judged(s)]

    def settle(self) -> list[Finding]:
        """Bring header, totals and findings up to date; returns the findings."""
        self._write_header()
        self.findings = self._judge.settle(self.run)
        return self.findings

    def close(self) -> list[Finding]:
        """As `settle`, with the run's end judged: `run.status` must say how it ended."""
        self._write_header()
        self.findings = self._judge.close(self.run)
        return self.findings

    def empty(self) -> None:
        """All its traces went to another run: nothing is left to say."""
        self.findings = []
        self.run.trace_ids, self.run.status, self.run.status_reason = [], "completed", "joined"

    def _write_header(self) -> None:
        self._header.write(self.run)
        self.run.trace_ids = self._header.trace_ids()
        spans = sum(len(tree.lineage.steps) for tree in self._trees.values())
        self.run.totals = self._totals.read(spans + len(self._calls.synthetic))

    def steps(self) -> list[Step]:
        """All steps in order, synthetic calls included."""
        return sorted([*self._spans(), *self._calls.synthetic.values()], key=lambda s: s.order)

    def _spans(self) -> list[Step]:
        return [step for tree in self._trees.values() for step in tree.lineage.steps.values()]

    def known(self, trace_id: str, span_id: str) -> Step | None:
        tree = self._trees.get(trace_id)
        return None if tree is None else tree.lineage.steps.get(span_id)

    @property
    def started_ns(self) -> int:
        return self._header.started_ns

    def trajectory(self) -> Trajectory:
        """A view of the run as it is after the last `settle`."""
        return Trajectory(self.run, self.steps(), self.findings)


def _judged(step: Step) -> bool:
    """Rules see calls and what surrounds them, no containers (unless one stands in for calls that no span shows)."""
    return step.counted and step.kind != "other" and (not step.container or has_usage(step))
