"""Which run a span of a trace belongs to: nearly always the trace's only one."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from trailhound.canonical import stable_id
from trailhound.collector.assemble.live import LiveRun
from trailhound.collector.assemble.names import Names, differ, only, with_name
from trailhound.collector.assemble.overheard import Overheard
from trailhound.collector.assemble.shared_ids import TraceKey
from trailhound.collector.assemble.turns import Turns
from trailhound.model import Step

_CREATION = "create_agent"
"""How the name of a span begins that creates an agent: `create_agent {name}` (OTel GenAI 1.31)."""
NewRun = Callable[[str, str, str], LiveRun]
"""(tenant, trajectory id, trace id) -> a run."""


class TraceRuns:
    """The runs of one trace. Two roots of two sessions in one trace are two runs, and so are two turns of a session
    whose trace is made up; all else is one.

    `home` is the run named after the trace; `main` is the run that its spans go to, which is another trace's home when
    the two were joined.
    """

    __slots__ = (
        "_acts",
        "_new_run",
        "_overheard",
        "_parts",
        "_roots",
        "_turns",
        "home",
        "main",
        "sessions",
        "start_ns",
        "tenant",
        "trace_id",
        "users",
    )  # fmt: skip

    def __init__(self, tenant: str, trace_id: str, new_run: NewRun) -> None:
        self.tenant, self.trace_id, self._new_run = tenant, trace_id, new_run
        self.sessions: Names = ()
        self.users: Names = ()
        self._roots = 0
        self._acts = False
        """Whether it does anything but create an agent, which every run of that agent may link to (OpenLIT 1.45)."""
        self._parts: dict[str, LiveRun] = {}
        """By session: the runs of a divided trace, the first excepted."""
        self._turns: Turns | None = None
        self._overheard: Overheard | None = None
        self.start_ns = 0
        self.home = new_run(tenant, stable_id(tenant, trace_id), trace_id)
        self.main = self.home

    @property
    def runs(self) -> list[LiveRun]:
        return [self.main, *self._parts.values()]

    @property
    def key(self) -> TraceKey:
        return (self.tenant, self.trace_id)

    @property
    def identity(self) -> tuple[object, ...]:
        """Changes when the trace may have to be joined otherwise: with its start, its sessions, users or turns, and when
        its spans were distributed anew."""
        sizes = (len(self.sessions), len(self.users), len(self._turns or ()))
        return (self.start_ns, *sizes, self._acts, self.names, self.divided, self.main.run.trajectory_id)

    @property
    def names(self) -> tuple[str, str]:
        """The session and the user, where the trace names one alone."""
        return only(self.sessions), only(self.users)

    def follow_turns(self) -> None:
        """The trace is made up for a session's log records, in which only questions divide the turns."""
        self._turns = self._turns or Turns()

    def may_join(self, other: TraceRuns) -> bool:
        """Never two sessions, never two users; a divided trace stays as it is, and an agent's creation is no run's part."""
        if self.divided or other.divided or not self._acts or not other._acts:
            return False
        return not differ(self.sessions, other.sessions) and not differ(self.users, other.users)

    @property
    def divided(self) -> bool:
        """Whether its spans are in several runs now; not whether they ever were."""
        return self._must_divide and any(part.has_steps for part in self._parts.values())

    @property
    def span_ids(self) -> Mapping[str, Step]:
        """Of all its spans that were taken."""
        if not self._parts:
            return self.main.trees.of(self.trace_id)
        return ChainMap(*(run.trees.of(self.trace_id) for run in self.runs))

    def known(self, span_id: str) -> tuple[LiveRun, Step] | None:
        for run in self.runs:
            step = run.trees.of(self.trace_id).get(span_id)
            if step is not None:
                return run, step
        return None

    def hear(self, said: Step) -> list[LiveRun]:
        """Take what a log record says about a span, or about a tool call by its id; returns the runs that changed."""
        if self._overheard is None:
            self._overheard = Overheard()
        if not self._overheard.add(said):
            return []
        changed = []
        if said.tool is not None and said.tool.call_id is not None:
            changed = [run for run in self.runs if run.hear(said)]
        known = self.known(said.span_id)
        if known is not None:
            run, step = known
            changed += self._renew(run, self._overheard.complete(run.as_read(step)))
        return changed or [self.main]

    def outdoes(self, step: Step) -> bool:
        """Whether a report of a known span takes the place of the one before: it ends later, or says more."""
        known = self.known(step.span_id)
        assert known is not None
        run, before = known
        if step.end_ns != before.end_ns:
            return step.end_ns > before.end_ns
        as_read = self._overheard.base(step.span_id) if self._overheard is not None else None
        return detail(step) > detail(as_read or run.as_read(before))

    def replace(self, step: Step) -> list[LiveRun]:
        """Take a later report of a known span; returns the runs that changed."""
        known = self.known(step.span_id)
        assert known is not None
        return self._renew(known[0], step if self._overheard is None else self._overheard.renew(step))

    def _renew(self, run: LiveRun, step: Step) -> list[LiveRun]:
        before = run.trees.of(self.trace_id).get(step.span_id)
        run.replace(step)
        if before is not None and _belongs(before) != _belongs(step):
            self._note_anew()
        return self._divide(self._take_out()) if self._must_divide or self._parts else [run]

    def complete(self, steps: list[Step]) -> list[Step]:
        """New spans' steps with what log records said about them before they came."""
        return steps if self._overheard is None else [self._overheard.complete(step) for step in steps]

    def add(self, steps: list[Step], put: Callable[[LiveRun, list[Step]], object]) -> list[LiveRun]:
        """Take new spans' steps, as `complete` gave them; returns the runs that changed. `put` lets the only run take them."""
        self._note(steps)
        stays = self._turns is not None and self._turns.note(steps)
        if not self._must_divide and not self._parts:
            put(self.main, steps)
            return [self.main]
        if stays and self.by_turn and self.main is self.home:
            return self._go_on(steps)
        return self._divide([*self._take_out(), *steps])

    def _go_on(self, steps: list[Step]) -> list[LiveRun]:
        """Put steps into their turns, where nothing else has to move: earlier turns may be over long since."""
        changed = []
        for number, (turn, members) in enumerate(self._groups(steps)):
            if members:
                run = self.home if number == 0 else self._part(turn or "")
                run.add(members)
                changed.append(run)
        self._repeat(changed)
        return changed

    def _note(self, steps: Iterable[Step]) -> None:
        """Keep what decides where the trace's spans go."""
        for step in steps:
            self._acts = self._acts or not step.name.startswith(_CREATION)
            if step.start_ns and (not self.start_ns or step.start_ns < self.start_ns):  # 0: it is not told
                self.start_ns = step.start_ns
            if step.session_id is not None and step.session_id not in self.sessions:
                self.sessions = with_name(self.sessions, step.session_id)
            if step.user_id is not None and step.user_id not in self.users:
                self.users = with_name(self.users, step.user_id)
            if not step.parent_span_id or step.remote_parent:
                self._roots += 1

    def _note_anew(self) -> None:
        """A later report of a span names another session, user or parent: what the earlier one named may be nobody's."""
        self.sessions, self.users, self._roots = (), (), 0
        self._note(s for run in self.runs for s in run.steps() if s.trace_id == self.trace_id and not s.synthetic)

    @property
    def _must_divide(self) -> bool:
        return self.by_turn or (len(self.sessions) > 1 and self._roots > 1)

    @property
    def by_turn(self) -> bool:
        return self._turns is not None and len(self._turns) > 1

    def take_all(self) -> list[Step]:
        """Give all steps back as they were read; nothing is left of the trace."""
        return self._take_out()

    def _take_out(self) -> list[Step]:
        return [step for run in self.runs for step in run.take_out(self.trace_id)]

    def move(self, run: LiveRun) -> list[LiveRun]:
        """Let all spans of the trace go to `run` from now on; returns the runs that changed."""
        if run is self.main or self.divided:
            return []
        left = self.main
        run.first_segment = min(run.first_segment, left.first_segment)
        run.open_segment = min(run.open_segment, left.open_segment)
        run.add(left.take_out(self.trace_id))
        self.main = run
        self._repeat([run])
        return [left, run]

    def _repeat(self, runs: list[LiveRun]) -> None:
        """Tell runs that spans of this trace went to what log records say of their calls."""
        for said in self._overheard.of_calls() if self._overheard is not None else ():
            for run in runs:
                run.hear(said)

    def _divide(self, steps: list[Step]) -> list[LiveRun]:
        """Distribute all steps anew; the run that starts first keeps the trace's own id."""
        changed = [*self.runs, self.home]
        self.main = self.home
        groups = self._groups(steps)
        for number, (session, members) in enumerate(groups):
            run = self.home if number == 0 else self._part(session or "")
            run.add(members)
            changed.append(run)
        self._repeat(self.runs)
        return list({id(run): run for run in changed}.values())

    def _groups(self, steps: list[Step]) -> list[tuple[str | None, list[Step]]]:
        if self.by_turn and self._turns is not None:
            return self._turns.divide(steps)
        return divide(steps) if self._must_divide else [(None, steps)]

    def _part(self, session: str) -> LiveRun:
        if session not in self._parts:
            part_id = stable_id(self.tenant, self.trace_id, session)
            self._parts[session] = self._new_run(self.tenant, part_id, self.trace_id)
        return self._parts[session]


def _belongs(step: Step) -> tuple[str | None, str | None, bool]:
    return (step.session_id, step.user_id, bool(step.parent_span_id) and not step.remote_parent)


def detail(step: Step) -> tuple[int, str]:
    """Puts reports of a span that end at the same time in an order: the one that says more comes last."""
    said = repr(replace(step, received_ns=0, size=0)).replace("None", "")
    return (len(said), said)


def divide(steps: list[Step]) -> list[tuple[str | None, list[Step]]]:
    """Steps of one trace by session, in order of start: whole trees, a tree's session being that of its first step.

    Trees without a session, and spans whose root has not arrived, stay with the first group.
    """
    trees = _trees(steps)
    groups: dict[str | None, list[Step]] = {}
    loose: list[Step] = []
    for tree in sorted(trees, key=lambda t: t[0].order):
        session = next((s.session_id for s in tree if s.session_id is not None), None)
        rooted = any(not s.parent_span_id or s.remote_parent for s in tree)
        if session is None or not rooted:
            loose += tree
        else:
            groups.setdefault(session, []).extend(tree)
    ordered = list(groups.items()) or [(None, [])]
    ordered[0][1].extend(loose)
    return ordered


def _trees(steps: list[Step]) -> list[list[Step]]:
    """Connected steps, each tree sorted in order; children of one missing parent are connected."""
    above: dict[str, str] = {}

    def top(span_id: str) -> str:
        while above.get(span_id, span_id) != span_id:
            above[span_id] = above.get(above[span_id], above[span_id])
            span_id = above[span_id]
        return span_id

    for step in steps:
        if step.parent_span_id:
            above[top(step.span_id)] = top(step.parent_span_id)
    trees: dict[str, list[Step]] = {}
    for step in sorted(steps, key=lambda s: s.order):
        trees.setdefault(top(step.span_id), []).append(step)
    return list(trees.values())
