"""One run while it lives: its steps, what they add up to, and what the rules say of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter

from trailhound.collector.assemble.agents import Agents, Placed
from trailhound.collector.assemble.calls import Calls
from trailhound.collector.assemble.elsewhere import called_services
from trailhound.collector.assemble.header import Header
from trailhound.collector.assemble.judged import is_judged, judged_of
from trailhound.collector.assemble.life import OPEN, Signs
from trailhound.collector.assemble.news import Notes
from trailhound.collector.assemble.overheard import Hearsay
from trailhound.collector.assemble.packable import PARTS, Packable
from trailhound.collector.assemble.packing import pack, unpack
from trailhound.collector.assemble.pauses import Pauses
from trailhound.collector.assemble.totals import RunningTotals
from trailhound.collector.assemble.trees import Tree, Trees, by_trace
from trailhound.collector.stamp import EVER
from trailhound.evaluators.judge import RuleSet, ScopeJudge
from trailhound.evaluators.order import place_of
from trailhound.model import ApprovalVerdict, Finding, Run, Step, Trajectory

_SHELL = (
    "_inform", "_rules", "due_ns", "findings", "first_segment", "full", "late", "longest_pause_ns", "open_segment", "run", "since_ns", "told", "touched_ns",
)  # fmt: skip
_size = attrgetter("size")


class LiveRun(Packable):
    """A trajectory under construction. Work per span does not grow with the run, whatever the order of arrival.

    A quiet run can be packed: then it has none of its parts, until somebody asks for one.
    """

    __slots__ = (*PARTS, *_SHELL)

    def __init__(self, run: Run, rules: RuleSet, inform: Callable[[Run], object] = id) -> None:
        self.run = run
        self.findings: list[Finding] = []
        self.first_segment = self.open_segment = 0  # journal segments: of its first record; in which it was opened last
        self.since_ns = self.touched_ns = self.longest_pause_ns = 0  # in memory since; last touch; longest time between
        self.told = EVER  # when its state was told last
        self.due_ns = 0  # when its time is up if nothing comes, as of the last look
        self.full = self.late = False  # it has all spans that it may have; it was over, and a span came late
        self._rules, self._inform = rules, inform
        super().__init__()
        self._begin()

    def _begin(self) -> None:
        self.notes = Notes()
        self._heard = Hearsay()
        self._clear()

    def _clear(self) -> None:
        self._trees = Trees()
        self._agents = Agents()
        self._calls = Calls()
        self._header = Header()
        self._totals = RunningTotals()
        self.judge = ScopeJudge(self._rules, "trajectory", self.run.trajectory_id, self.run.tenant)
        self._pauses = Pauses()
        for said in self._heard:
            self._calls.hear(said, self)
        self.spans = self.content_bytes = 0

    def may_be_packed(self) -> bool:
        """Not with news that nobody took, nor with what log records said or the index of approvals holds on to."""
        if self.notes or self._heard:
            return False
        return not any(s.approval or s.approvals or s.status in ("pending", "denied") for s in self._every())

    def to_bytes(self) -> bytes:
        return pack(self._trees.spans(), self._agents.nameless, self._calls.own)

    def from_bytes(self, packed: bytes) -> None:
        self._begin()
        self.add(unpack(packed))
        self.notes.take()  # all of it was told before

    # ------------------------------------------------------------ steps in

    def add(self, steps: Iterable[Step]) -> None:
        """Take steps with new span ids, in any order; cheapest when many come together, parents before their children."""
        for members in by_trace(steps).values():
            tree = self.plant(members)
            for stage in STAGES:
                stage(self, tree, members)
        self._calls.settle(self)

    def plant(self, steps: list[Step]) -> Tree:
        """The tree of the one trace that these steps are of: each of `STAGES` takes them next, and then `calls` settle."""
        tree = self._trees.get(trace_id := steps[0].trace_id)
        if tree is None and len(self._trees) == 1:
            self._share()
        tree = tree or self._trees.plant(trace_id, joined=self._agents.shared)
        self.spans += len(steps)
        self.content_bytes += sum(map(_size, steps))
        tree.lineage.add(steps)
        return tree

    def _share(self) -> None:
        """A second trace joins: what stood at the top of the first is now one of several tops."""
        steps, self._agents.shared = self.release(), True
        self.add(steps)

    def replace(self, step: Step) -> None:
        """Take a later report of a known span."""
        tree = self._trees[step.trace_id]
        old = tree.lineage.steps[step.span_id]
        if (old.parent_span_id, old.kind) != (step.parent_span_id, step.kind):
            self.add([*(s for s in self.release() if s is not old), step])
            return
        self.leave(old)
        self._calls.swap(old, step)
        step.approval = old.approval
        tree.lineage.swap(step)
        self._follow(self._agents.swap(tree.lineage, old, step))
        for stage in STAGES[1:]:
            stage(self, tree, [step])
        self._calls.settle(self)

    def release(self) -> list[Step]:
        """Give all spans' steps back as they were read, and forget them."""
        for step in self.steps():
            self.leave(step)
        steps = self._trees.spans()
        for step in steps:
            self._calls.restore(step)
            step.counted, step.scope_id, step.approval = True, "", None
            step.agent = self._agents.own_name(step)
        self._clear()
        return steps

    def as_read(self, step: Step) -> Step:
        """A copy of a step without what its neighbours told of it."""
        copy = self._calls.as_read(step)
        copy.counted, copy.scope_id, copy.approval = True, "", None
        copy.agent = self._agents.own_name(step)
        return copy

    def take_out(self, trace_id: str) -> list[Step]:
        """Give the steps of one trace back, and go on without them."""
        self._heard.drop(trace_id)
        steps = self.release()
        self.add(s for s in steps if s.trace_id != trace_id)
        return [s for s in steps if s.trace_id == trace_id]

    def hear(self, said: Step) -> bool:
        """Take what a log record says about a tool call, by its id; False when no span here has that call."""
        self._heard.add(said)
        if said.approvals:
            self.notes.show(said)
        return self._calls.hear(said, self) or bool(said.approvals)

    @property
    def calls(self) -> Calls:
        return self._calls

    @property
    def trees(self) -> Trees:
        return self._trees

    def approve(self, step: Step, verdict: ApprovalVerdict | None) -> bool:
        """Set what the approvals index says of a call (None: it asks for none), and let the rules look at it again; False when they knew."""
        if step.approval == verdict:
            return False
        step.approval = verdict
        if is_judged(step):
            self.judge.put(step)
        return True

    def _follow(self, placed: Placed) -> None:
        """Let the rules, and the calls read out of a model call, follow it into its scope and to its agent."""
        for step in placed.moved:
            for call in self._calls.of(step):
                call.scope_id = step.scope_id
                self.judge.put(call)
            if is_judged(step):
                self.judge.put(step)
        for step in placed.named:
            for each in (step, *self._calls.of(step)):
                each.agent = step.agent
                if is_judged(each):
                    self.notes.here([each])  # the session's rules follow each agent by its name
                    if self._rules.follows_agents:
                        self.judge.put(each)

    def _count(self, tree: Tree, steps: list[Step]) -> None:
        for other in tree.accounting.add(steps, self._trees):
            self.leave(other, counted=not other.counted)
            self.enter([other])
            self._calls.recount(other)

    def _head(self, tree: Tree, steps: list[Step]) -> None:
        for step in steps:
            if step.approvals:
                self.notes.show(step)
            if (not step.parent_span_id or step.remote_parent) and not tree.accounting.is_served(step):
                self._header.add_root(step)
        self._header.add(steps, self._agents.nameless)

    # ------------------------------------------------------------ what counts

    def enter(self, steps: list[Step]) -> None:
        """Count steps that were placed, and let the rules see them."""
        self._totals.put(steps)
        self._pauses.add(steps, self._every)
        judged = judged_of(steps)
        self.judge.put_all(judged)
        self.notes.here(judged)
        if len(judged) < len(steps):
            self.notes.no_calls(s for s in steps if not is_judged(s))

    def leave(self, step: Step, counted: bool | None = None) -> None:
        """Take a step out again, as it was counted before."""
        now, step.counted = step.counted, step.counted if counted is None else counted
        self._totals.take(step)
        self._pauses.remove(step)
        if is_judged(step):
            self.judge.drop(step)
            self.notes.gone(step)
        step.counted = now
        step.approval = step.approval if now else None

    # ------------------------------------------------------------ what it is

    def signs(self) -> Signs:
        root = self._header.last_root
        # a bare model call at the top that asked for a tool: the client will go on, most likely in another trace
        asks = root is not None and root.kind == "llm" and any(call.status == "open" for call in self._calls.of(root))
        return Signs(
            root_ended=root is not None and root.end_ns > 0 and not asks,
            root_failed=root is not None and self._header.failed(self._trees.heads),
            paused=self._pauses.paused(root),
            last_received_ns=self._header.last_received_ns,
            full=self.full,
        )

    @property
    def names(self) -> tuple[str | None, str | None]:
        """Its session and its user."""
        return self._header.session_id, self._header.user_id

    @property
    def has_steps(self) -> bool:
        return self.spans > 0

    def judged(self) -> list[Step]:
        """The steps that rules see."""
        return judged_of(self.steps())

    def settle(self) -> list[Finding]:
        """Bring header, totals and findings up to date; returns the findings."""
        self.write_header()
        self.findings = self.judge.settle(self.run)
        return self.findings

    def close(self) -> list[Finding]:
        """As `settle`, with the run's end judged: `run.status` must say how it ended."""
        self.write_header()
        self.findings = self.judge.close(self.run)
        return self.findings

    def empty(self) -> None:
        """All its traces went to another run: nothing is left to say."""
        self.findings = []
        self.run.trace_ids, self.run.status, self.run.status_reason = [], "completed", "joined"

    def write_header(self) -> None:
        """Bring header and totals up to date."""
        self._header.write(self.run, self._trees.heads)
        self.run.waited_ns = self._pauses.waited_ns(self._header.starts)
        self.run.totals = self._totals.read(self.spans + len(self._calls.synthetic))
        if self.run.status not in OPEN:
            self.run.called_services = called_services(self.run, {t: tree.lineage for t, tree in self._trees.items()})
        self._inform(self.run)  # of what earlier runs tell

    def steps(self) -> list[Step]:
        """All steps in order, synthetic calls included."""
        return sorted(self._every(), key=place_of)

    def _every(self) -> list[Step]:
        return [*self._trees.spans(), *self._calls.synthetic.values()]

    def trajectory(self) -> Trajectory:
        """A view of the run as it is after the last `settle`."""
        return Trajectory(self.run, self.steps(), self.findings)


STAGES: tuple[Callable[[LiveRun, Tree, list[Step]], object], ...] = (
    lambda run, tree, steps: run._follow(run._agents.enter(tree.lineage, steps)),
    LiveRun._count,
    lambda run, _, steps: run.enter(steps),
    LiveRun._head,
    lambda run, tree, steps: run._calls.add(steps, tree.lineage, run),
)
"""What is done with new steps of one trace, in this order."""
