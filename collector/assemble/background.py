"""What earlier runs tell about a run: kept as runs end, told to the rules through the header, judged anew when late."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from trailhound.collector.assemble.deployments import deployed, version_before
from trailhound.collector.assemble.earlier import AgentProfiles, SessionCalls, called, place_of
from trailhound.collector.assemble.lessons import KNOWN, Forgetful, Lessons, Subject
from trailhound.collector.assemble.live import LiveRun
from trailhound.collector.assemble.observed import Observation, Observed, Pin
from trailhound.evaluators.baseline import measured
from trailhound.evaluators.judge import RuleSet
from trailhound.evaluators.profile import profiles_of
from trailhound.evaluators.regression import Regression, RegressionSettings
from trailhound.evaluators.versions import LOOKS
from trailhound.model import Finding, Run, Step

MAX_AGENTS = 2000
"""Agents and tasks whose baselines are in memory; the one unused for longest is let go of."""

AGAIN_EVERY_NS = 1_000_000_000

MAX_FINDINGS = 1000
"""Findings about versions that `check` can show; all are told."""

RunKey = tuple[str, str]


class Background:
    """Asked before a run is judged, told when one ends. A run is compared with those that ended before it."""

    def __init__(self, rules: RuleSet, lessons: Lessons | None = None) -> None:
        settings = next((e.settings for e in rules.evaluators if isinstance(e, Regression)), None)
        self._settings: RegressionSettings | None = settings
        self._tools, self._suppressions = rules.tools, rules.suppressions
        names = {evaluator.rule for evaluator in rules.evaluators}
        self._lessons: Lessons = Forgetful() if lessons is None else lessons
        self._calls = SessionCalls(self._lessons.calls) if "false-claim" in names else None
        self._profiles = AgentProfiles(self._lessons.portraits) if "drift" in names else None
        self.observed: dict[Subject, Observed] = {}
        self._ended: dict[Subject, dict[RunKey, Run]] = {}
        """Runs in memory that have ended."""
        self._again: dict[RunKey, None] = {}
        self._due_ns = 0
        self._unlearnt: dict[Subject, dict[str, int]] = {}
        """Subjects with news that were not taken, and of their runs that ended since the first journal segment."""
        self.findings: dict[str, Finding] = {}
        """The latest findings about versions, by id."""
        self._news: dict[str, tuple[str, str, Finding]] = {}

    def inform(self, run: Run) -> None:
        """Set what `run`, whose header is up to date, is to be compared with."""
        if self._calls is not None:
            run.earlier_calls = self._calls.before(run)
        if self._profiles is not None:
            # not bound to the run, which would hold itself
            run.previous = partial(self._profiles.before, run.tenant, run.service, place_of(run))
        if self._settings is None:
            return
        subject = subject_of(run)
        observed = self.observed_of(subject)
        if run.trajectory_id in observed and run.status in ("open", "waiting"):
            observed.remove(run.trajectory_id)  # learnt from in an earlier life; it goes on
            self._unlearnt.setdefault(subject, {})
        run.baseline = observed.baseline((run.ended_ns, run.trajectory_id))

    def ended(self, run: Run, steps: list[Step], segment: int = 0) -> None:
        """Learn from a run that has ended, by its final header; `steps` are those that rules see, in order, and `segment` is
        the first one of the journal that it needs."""
        subject = subject_of(run)
        self._ended.setdefault(subject, {})[_key(run)] = run
        if self._calls is not None:
            names = called(steps, self._tools)
            later = self._calls.put(run, names)
            if run.session_id is not None:
                session = (run.tenant, run.session_id)
                self._lessons.called(session, run.trajectory_id, place_of(run), names, segment)
            self._again.update(((run.tenant, run_id), None) for run_id in later)
        if self._profiles is not None:
            self._compare_agents(self._profiles, run, steps, segment)
        if self._settings is not None and run.status == "completed":
            self._observe(run, subject, segment)

    def _compare_agents(self, profiles: AgentProfiles, run: Run, steps: list[Step], segment: int) -> None:
        kept, again = profiles.put(run, profiles_of(steps, run.agent))
        for key, run_id, portrait in kept:
            self._lessons.portray(key, run_id, portrait, segment)
        self._again.update(((run.tenant, run_id), None) for run_id in again)

    def _observe(self, run: Run, subject: Subject, segment: int) -> None:
        observed = self.observed_of(subject)
        index = observed.put(Observation(place_of(run), run.service_version or "", measured(run)))
        self._unlearnt.setdefault(subject, {})[run.trajectory_id] = segment
        self._compare_versions(run, observed, index)

    def _learn(self, subject: Subject) -> None:
        """Keep what changed in what is known of a subject, once for all runs that ended together."""
        segments, observed = self._unlearnt.pop(subject), self.observed[subject]
        changed, gone = observed.take_news()
        self._lessons.learn(subject, [each for each in changed if each.place[1] not in segments], gone, KNOWN)
        for each in changed:
            if (segment := segments.get(each.place[1])) is not None:
                self._lessons.learn(subject, [each], (), segment)
        since, again = observed.take_again()
        if since is not None:
            self._judge_later(subject, since, lambda run: run.status != "completed" or run.trajectory_id in again)

    def _as_configured(self, finding: Finding) -> Finding:
        assert self._settings is not None
        finding.severity = self._settings.severity_of(finding.severity)
        return self._suppressions.apply(finding, finding.last_seen_ns)

    def goes_on(self, run: Run) -> None:
        """A run that had ended has a new span."""
        self._ended.get(subject_of(run), {}).pop(_key(run), None)

    def forget(self, run: Run) -> None:
        """The run leaves memory; what was learnt from it stays."""
        subject = subject_of(run)
        ended = self._ended.get(subject, {})
        ended.pop(_key(run), None)
        if not ended:
            self._ended.pop(subject, None)

    def is_due(self, now_ns: int) -> bool:
        """Whether it is time to `take_again`: once for all runs that ended in the last second, since each of them costs a
        look at all that ended after it."""
        if now_ns < self._due_ns:
            return False
        self._due_ns = now_ns + AGAIN_EVERY_NS
        return True

    def learn(self) -> None:
        """Pass on to those who keep it what is known since the last time."""
        for subject in list(self._unlearnt):
            self._learn(subject)

    def take_again(self) -> list[RunKey]:
        """Ended runs for which an earlier one became known after they were judged."""
        self.learn()
        again, self._again = list(self._again), {}
        return again

    def take_findings(self) -> list[tuple[tuple[str, str], list[Finding]]]:
        """Findings about agents since the last call, by the scope they are of."""
        news, self._news = self._news, {}
        return [((tenant, scope), [finding]) for tenant, scope, finding in news.values()]

    def observed_of(self, subject: Subject) -> Observed:
        """What is known of an agent and task. Only while the rule `regression` is on."""
        observed = self.observed.pop(subject, None)
        if observed is None:
            observed = load(self._lessons, subject, self._settings)
        self.observed[subject] = observed  # last: the first is the longest unused
        if len(self.observed) > MAX_AGENTS:
            oldest = next(iter(self.observed))
            if oldest in self._unlearnt:
                self._learn(oldest)
            del self.observed[oldest]
        return observed

    def pin(self, subject: Subject, pin: Pin | None) -> None:
        """Compare runs of `subject` that end from the pin's time on with it; None: with the latest runs again."""
        observed = self.observed_of(subject)
        since_ns = min(each.since_ns for each in (observed.pin, pin) if each is not None) if observed.pin or pin else 0
        observed.set_pin(pin)
        self._unlearnt.setdefault(subject, {})
        self._judge_later(subject, (since_ns, ""))

    @property
    def regression(self) -> RegressionSettings | None:
        """The settings of the rule; None while it is off."""
        return self._settings

    def _judge_later(
        self, subject: Subject, place: tuple[int, str], concerns: Callable[[Run], bool] = lambda _: True
    ) -> None:
        later = (r for r in self._ended.get(subject, {}).values() if (r.ended_ns, r.trajectory_id) >= place)
        self._again.update((_key(run), None) for run in later if concerns(run))

    # ------------------------------------------------------------ versions

    def _compare_versions(self, run: Run, observed: Observed, index: int) -> None:
        """At a look (see `versions`), compare the version of the run at `index` with the one that was before it.

        What was told of that one is looked at again: a version that has been replaced is no problem any more.
        """
        assert self._settings is not None
        known = observed.places
        version = known[index].version
        count, in_order = observed.versions[version], index == len(known) - 1
        if not version or not LOOKS[0] <= count <= LOOKS[-1] or (in_order and count not in LOOKS):
            return
        for each in (version, version_before(known, version)):
            if each:
                self._tell(run, deployed(run, known, each, self._settings.version_over))

    def _tell(self, run: Run, told: Finding) -> None:
        """Tell of a version that is dearer; of one that is not (any more) only when something else was told before."""
        before = self.findings.pop(told.finding_id, None)
        if told.state == "resolved" and "metrics" not in told.details and before is None:
            return
        finding = self._as_configured(told)
        self._news[finding.finding_id] = (run.tenant, f"version:{finding.finding_id}", finding)
        self.findings[finding.finding_id] = finding
        if len(self.findings) > MAX_FINDINGS:
            del self.findings[next(iter(self.findings))]


def load(lessons: Lessons, subject: Subject, settings: RegressionSettings | None) -> Observed:
    """What was kept of an agent and task; `settings` as they are by default while the rule is off."""
    observed = Observed(settings or RegressionSettings.model_validate({}))
    runs, pin = lessons.runs(subject)
    observed.pin = pin
    observed.load(runs)
    observed.take_news()
    return observed


def subject_of(run: Run) -> Subject:
    return (run.tenant, run.service, run.agent or "", run.task or "")


def in_turn(live: LiveRun) -> tuple[Subject, tuple[int, str]]:
    """Orders runs so that what is known of each subject is gone through once."""
    return (subject_of(live.run), place_of(live.run))


def _key(run: Run) -> RunKey:
    return (run.tenant, run.trajectory_id)
