"""`pytest --testset`: real pytest processes over cases, with agents that pass, fail, hang, crash and cannot be measured."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from trailhound.document import trajectory_document
from trailhound.evaluators.testset.case import Case
from trailhound.evaluators.testset.promote import build_case
from trailhound.evaluators.testset.report.summary import summarize
from trailhound.evaluators.testset.results import Results
from trailhound.testing_runs import make_call, make_finding, make_run

CONFTEST = """
import os, time, pytest
from opentelemetry import trace

tracer = trace.get_tracer("team")

def call(order, times):
    with tracer.start_as_current_span("invoke_agent a", attributes={"gen_ai.operation.name": "invoke_agent"}):
        for n in range(times):
            with tracer.start_as_current_span("execute_tool lookup_order", attributes={
                "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "lookup_order",
                "gen_ai.tool.call.id": f"c{n}", "gen_ai.tool.call.arguments": '{"order_id": "SO-1"}',
                "gen_ai.tool.call.result": '{"status": "lost"}'}):
                pass

@pytest.fixture
def run_agent():
    def run(trial):
        BODY
    return run
"""


def case(number: int = 1, **fields: Any) -> Case:
    calls = [make_call(n, "lookup_order", {"order_id": "SO-1"}, {"status": "lost"}) for n in range(1, 6)]
    finding = make_finding("loop", "warning", *calls, details={"tool": "lookup_order", "calls": 5, "max_repeats": 2})
    made = build_case(trajectory_document(make_run(calls, [finding], input=f"task {number}")))
    return Case.model_validate(made.model_dump(mode="json") | {"id": f"case-{number}", "family": f"f{number}"} | fields)


class Team:
    """A folder of a team: a conftest.py, cases, and pytest to run over them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "cases").mkdir()
        self.runs = 0

    def agent(self, body: str, more: str = "") -> None:
        (self.path / "conftest.py").write_text(CONFTEST.replace("BODY", body.replace("\n", "\n        ")) + more)

    def cases(self, *cases: Case) -> None:
        for one in cases:
            (self.path / "cases" / f"{one.id}.yaml").write_text(one.to_yaml())

    def pytest(self, *options: str, **environment: str) -> tuple[subprocess.CompletedProcess[str], Results]:
        self.runs += 1
        results = self.path / f"results-{self.runs}"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--testset", "cases"]
        done = subprocess.run(
            [*command, "--trial-results", str(results), *options],
            cwd=self.path,
            env=os.environ | environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return done, Results.open(results)


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return Team(tmp_path)


def verdicts(results: Results) -> dict[tuple[str, int], str | None]:
    return {key: result.failure or result.verdict for key, result in results.first().items()}


def test_each_trial_sees_its_own_spans_and_the_numbers_are_told(team: Team) -> None:
    team.cases(case())
    team.agent("call('SO-1', 1 if trial.number != 2 else 5)\nreturn 'done'")
    done, results = team.pytest("--trials", "3")
    assert done.returncode == 1
    assert verdicts(results) == {("case-1", 1): "pass", ("case-1", 2): "contract", ("case-1", 3): "pass"}
    assert "loop: lookup_order was called 5 times" in done.stdout
    assert "pass@1" in done.stdout
    assert [len(results.first()["case-1", n].calls) for n in (1, 2, 3)] == [1, 5, 1]


def test_spans_of_an_async_agent_with_a_provider_of_its_own(team: Team) -> None:
    team.cases(case())
    provider = "from opentelemetry.sdk.trace import TracerProvider\ntrace.set_tracer_provider(TracerProvider())\n"
    team.agent("async def answer():\n    call('SO-1', 5)\nreturn answer()", provider)
    _, results = team.pytest()
    assert verdicts(results) == {("case-1", 1): "contract"}


def test_a_hanging_trial_is_ended_and_counts(team: Team) -> None:
    team.cases(case())
    team.agent("try:\n    time.sleep(60)\nexcept Exception:\n    time.sleep(60)")
    done, results = team.pytest("--trial-timeout", "0.3")
    assert verdicts(results) == {("case-1", 1): "timeout"}
    assert "no result after 0.3 s" in done.stdout


def test_an_agent_that_raises_fails_and_one_that_kills_its_process_stays_in_the_denominator(team: Team) -> None:
    team.cases(case(1), case(2))
    team.agent("if '1' in trial.input:\n    raise RuntimeError('no model')\nos._exit(3)")
    _, results = team.pytest("--trials", "2")
    assert verdicts(results) == {
        ("case-1", 1): "agent_error",
        ("case-1", 2): "agent_error",
        ("case-2", 1): "crash",
        ("case-2", 2): "crash",
    }
    assert summarize(results).trials == 4


def test_a_fixture_that_fails_is_a_fault_of_measuring(team: Team) -> None:
    team.cases(case())
    (team.path / "conftest.py").write_text(
        "import pytest\n@pytest.fixture\ndef run_agent():\n    raise OSError('no key')\n"
    )
    done, results = team.pytest()
    assert done.returncode == 1
    assert verdicts(results) == {("case-1", 1): "measurement"}
    assert "no key" in results.first()["case-1", 1].missing[0]


def test_a_team_that_has_not_said_how_its_agent_runs_is_told_to(team: Team) -> None:
    team.cases(case())
    (team.path / "conftest.py").write_text("")
    done, results = team.pytest()
    assert done.returncode == 1
    assert "write one in your conftest.py" in done.stdout
    assert verdicts(results) == {("case-1", 1): "measurement"}


def test_recorded_results_stand_in_and_a_call_that_was_not_recorded_is_unknown(team: Team) -> None:
    team.cases(case())
    team.agent("call('SO-1', 1)\nreturn str(trial.recorded('lookup_order', {'order_id': os.environ['ORDER']}))")
    _, results = team.pytest(ORDER="SO-1")
    assert verdicts(results) == {("case-1", 1): "pass"}
    assert "lost" in results.first()["case-1", 1].output
    _, results = team.pytest(ORDER="SO-2")
    assert verdicts(results) == {("case-1", 1): "measurement"}


def test_the_end_state_is_checked_by_the_team(team: Team) -> None:
    team.cases(case(contract={"loops": {}, "end_state": ["label", "other"]}))
    checks = "\n@pytest.fixture\ndef end_state_checks():\n    return {'label': lambda trial: trial.output == 'done'}\n"
    team.agent("call('SO-1', 1)\nreturn 'done'", checks)
    _, results = team.pytest()
    result = results.first()["case-1", 1]
    assert (result.verdict, result.missing) == ("unknown", ["the end state check `other` was not made"])


def test_the_full_set_waits_for_the_core_set(team: Team) -> None:
    team.cases(case(1), case(2, core=True))
    team.agent("call('SO-1', 5)")
    _, results = team.pytest()
    assert verdicts(results) == {("case-2", 1): "contract", ("case-1", 1): "not_run"}
    _, results = team.pytest("--all-cases")
    assert verdicts(results) == {("case-2", 1): "contract", ("case-1", 1): "contract"}
    _, results = team.pytest("--core")
    assert verdicts(results) == {("case-2", 1): "contract"}


def test_workers_share_one_record(team: Team) -> None:
    team.cases(case(1), case(2))
    team.agent("call('SO-1', 1)\nreturn 'done'")
    done, results = team.pytest("--trials", "2", "-n", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert set(verdicts(results).values()) == {"pass"}
    assert results.reruns() == 0


def test_a_file_that_is_no_case_stops_the_run_before_it_starts(team: Team) -> None:
    team.cases(case())
    (team.path / "cases" / "odd.yaml").write_text("a: 1\n")
    command = [sys.executable, "-m", "pytest", "--testset", "cases"]
    done = subprocess.run(command, cwd=team.path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "odd.yaml" in done.stderr
    assert not (team.path / "trial-results").exists()


def test_an_exported_pytest_file_runs_by_itself(team: Team) -> None:
    from trailhound.evaluators.testset.exchange.base import formats

    team.agent("call('SO-1', 5)")
    (team.path / "test_exported.py").write_text(formats()["pytest"].write([case()]))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_exported.py"]
    done = subprocess.run(command, cwd=team.path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "lookup_order was called 5 times" in done.stdout


def test_a_team_may_have_options_of_the_same_names(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        "def pytest_addoption(parser):\n    parser.addoption('--trials', default='9')\n"
    )
    (tmp_path / "test_own.py").write_text(
        "def test_own(request):\n    assert request.config.getoption('trials') == '9'\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    environ = {name: value for name, value in os.environ.items() if name != "PYTEST_XDIST_WORKER"}
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
