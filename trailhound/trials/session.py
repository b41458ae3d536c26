"""One pytest session over a test set: plans it, collects a test for every trial, records results, tells the numbers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

from trailhound.clock import Clock, SystemClock
from trailhound.errors import Invalid
from trailhound.evaluators.testset.case import Case
from trailhound.evaluators.testset.grader import Grader
from trailhound.evaluators.testset.loading import TestSet, load_testset
from trailhound.evaluators.testset.report.summary import summarize
from trailhound.evaluators.testset.report.wording import case_line, facts
from trailhound.evaluators.testset.results import Results, not_run
from trailhound.evaluators.testset.trial import TrialResult
from trailhound.evaluators.testset.verdict import Attempted, EndStateCheck, judge_trial
from trailhound.trials import test_trial
from trailhound.trials.attempt import Attempts
from trailhound.trials.batch import CORE_FAILED, new_folder
from trailhound.trials.inside import FunctionAgent
from trailhound.trials.plan import Wanted, grader_of, plan
from trailhound.trials.single import listening
from trailhound.trials.trial import Trial

DESELECTED = "deselected on the command line"
SHOWN = 10
"""Cases named on the terminal; the report has all."""


class CaseFile(pytest.Module):
    """A case file as a module of tests, so that the fixtures of the conftest.py beside and above it are seen."""

    def _getobj(self) -> Any:
        return test_trial


class TrialSession:
    """The plugin object of a session with `--testset`."""

    def __init__(
        self, testset: TestSet, results: Results, grader: Grader | None, *, is_worker: bool, all_cases: bool
    ) -> None:
        self.testset = testset
        self.results = results
        self._grader = grader
        self._is_worker = is_worker
        self._all_cases = all_cases
        self._by_path = {path.resolve(): testset.cases[case_id] for case_id, path in testset.paths.items()}

    @classmethod
    def of(cls, config: pytest.Config) -> TrialSession:
        """The session that the command line asks for. Raises Invalid."""
        testset = load_testset([Path(path) for path in config.getoption("--testset")])
        grader = grader_of(
            config.getoption("--judge"), config.getoption("--judge-model"), config.getoption("--judge-key")
        )
        worker = getattr(config, "workerinput", None)
        if worker is not None:
            results = Results.open(Path(worker["trailhound_results"]))
        else:
            results = _planned(config, testset, grader, SystemClock())
        return cls(testset, results, grader, is_worker=worker is not None, all_cases=config.getoption("--all-cases"))

    def set_arguments(self, config: pytest.Config) -> None:
        """The test set is what pytest collects; files named on the command line come besides."""
        wanted = [str(Path(path).resolve()) for path in config.getoption("--testset")]
        named = config.args if config.args_source is pytest.Config.ArgsSource.ARGS else []
        config.args = [*(a for a in named if str(Path(a).resolve()) not in wanted), *wanted]

    # ------------------------------------------------------------ collecting

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        case = self._by_path.get(file_path.resolve())
        if case is None or case.id not in self.results.manifest.cases:
            return None
        return CaseFile.from_parent(parent, path=file_path)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if metafunc.definition.getparent(CaseFile) is not None:
            metafunc.parametrize("trial_number", range(1, self.results.manifest.trials + 1))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: (case := self._case(item)) is not None and not case.core)

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        if not self._is_worker:
            for item in items:
                if (case := self._case(item)) is not None:
                    self.results.add(not_run(case.id, _number(item), DESELECTED))

    def _case(self, item: pytest.Item) -> Case | None:
        file = item.getparent(CaseFile)
        return None if file is None else self._by_path[file.path.resolve()]

    # ------------------------------------------------------------ running

    @pytest.fixture
    def run_agent(self) -> Callable[[Trial], Any]:
        """What the team must write in its conftest.py."""
        pytest.fail(
            "there is no fixture `run_agent`: write one in your conftest.py that returns a function of a trial, which "
            "runs your agent once on `trial.input` and returns its answer (docs/testset.md)",
            pytrace=False,
        )

    @pytest.fixture
    def end_state_checks(self) -> dict[str, EndStateCheck]:
        """Name -> check of the end state; a team overrides it in its conftest.py."""
        return {}

    @pytest.fixture
    def run_trial(
        self, request: pytest.FixtureRequest, end_state_checks: dict[str, EndStateCheck]
    ) -> Callable[[Callable[[Trial], Any], int], TrialResult]:
        """Runs the team's agent once on the case of this file, and records what came of it."""
        case = self._case(request.node)
        assert case is not None

        def run(function: Callable[[Trial], Any], number: int) -> TrialResult:
            manifest = self.results.manifest
            agent = FunctionAgent(function, listening())
            attempts = Attempts(agent, manifest.timeout_s, manifest.retries, end_state_checks, self._grader)
            result = attempts.make(case, number)
            self.results.add(result)
            return result

        return run

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        case = self._case(item)
        if case is not None and not case.core and not self._all_cases and self._core_failed():
            self.results.add(not_run(case.id, _number(item), CORE_FAILED))
            pytest.skip(CORE_FAILED)

    def _core_failed(self) -> bool:
        cases = self.testset.cases
        return any(cases[r.case_id].core and r.verdict != "pass" for r in self.results.recorded())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """A fixture of the team that fails is a fault of measuring: the agent was never asked."""
        case = self._case(item)
        if case is not None and call.when == "setup" and call.excinfo is not None:
            self._set_up_failed(item, case, call.excinfo)
        return (yield)

    def _set_up_failed(self, item: pytest.Item, case: Case, error: pytest.ExceptionInfo[BaseException]) -> None:
        if error.errisinstance(pytest.skip.Exception):
            return
        lost = Attempted(ended="measurement", detail=f"the set-up failed: {error.exconly()}"[:2000])
        self.results.add(judge_trial(case, _number(item), lost))

    # ------------------------------------------------------------ telling

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._is_worker:
            return
        summary = summarize(self.results)
        terminalreporter.section("trials")
        for name, value in facts(summary):
            terminalreporter.write_line(f"{name:<22} {value}")
        for case in [c for c in summary.cases if c.c < c.n][:SHOWN]:
            terminalreporter.write_line(f"{case.case_id}: {case_line(case)}")
        terminalreporter.write_line(f"results in {self.results.path}; see `trailhound testset report`")


def _number(item: pytest.Item) -> int:
    callspec = getattr(item, "callspec", None)
    return int(callspec.params["trial_number"]) if callspec is not None else 1


def _planned(config: pytest.Config, testset: TestSet, grader: Grader | None, clock: Clock) -> Results:
    if config.getoption("--trials") < 1 or config.getoption("--trial-timeout") <= 0:
        raise Invalid("--trials must be 1 at least and --trial-timeout above 0", reason="usage")
    wanted = Wanted(
        trials=config.getoption("--trials"),
        timeout_s=config.getoption("--trial-timeout"),
        retries=config.getoption("--trial-retries"),
        core_only=config.getoption("--core"),
        application=config.getoption("--application"),
        version=config.getoption("--app-version"),
        grader=grader,
    )
    manifest = plan(testset, wanted, clock)
    return Results.create(Path(config.getoption("--trial-results") or new_folder(clock)), manifest)
