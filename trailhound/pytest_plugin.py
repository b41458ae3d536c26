"""The pytest plugin: `pytest --testset cases/ --trials 5` runs the team's agent on each case and judges every trial.

Loaded by every pytest in the environment, so it imports nothing heavy until a test set is asked for.
"""

from __future__ import annotations

import os
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("trailhound", "trials of a Trailhound test set")
    group.addoption("--testset", action="append", default=[], metavar="PATH", help="Case file or folder of cases.")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, parser: pytest.Parser, args: list[str]) -> None:
    """Take the names of the other options only where a test set is asked for: a team's own conftest may have them."""
    worker = "PYTEST_XDIST_WORKER" in os.environ
    if worker or any(word in ("-h", "--help") or word.partition("=")[0] == "--testset" for word in args):
        _add_options(parser)


def _add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("trailhound")
    group.addoption("--trials", type=int, default=1, metavar="K", help="Trials of each case; 1 without it.")
    group.addoption("--core", action="store_true", help="Only the cases of the core set.")
    group.addoption("--all-cases", action="store_true", help="Run the full set even when the core set fails.")
    group.addoption("--trial-timeout", type=float, default=300.0, metavar="S", help="Seconds a trial may take (300).")
    group.addoption(
        "--trial-retries", type=int, default=0, metavar="N", help="Repeat a trial that could not be measured (0)."
    )
    group.addoption("--trial-results", metavar="DIR", help="Folder of the results; a new one under trial-results/.")
    group.addoption("--judge", metavar="URL", help="OpenAI-compatible endpoint of a model judge, up to `/v1`.")
    group.addoption("--judge-model", metavar="NAME", help="Its model.")
    group.addoption("--judge-key", default="OPENAI_API_KEY", metavar="VAR", help="Variable that holds its key.")
    group.addoption("--application", metavar="NAME", help="Name of what is tested, for the report.")
    group.addoption("--app-version", metavar="V", help="Its version, for the report and for comparing.")


def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption("--testset"):
        return
    from trailhound.errors import Invalid
    from trailhound.trials.session import TrialSession

    try:
        session = TrialSession.of(config)
    except Invalid as error:
        raise pytest.UsageError(str(error)) from None
    config.pluginmanager.register(session, "trailhound-trials")
    session.set_arguments(config)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """pytest-xdist starts a worker: it adds to the results that the controller has planned."""
    session = node.config.pluginmanager.get_plugin("trailhound-trials")
    if session is not None:
        node.workerinput["trailhound_results"] = str(session.results.path)
