"""A pytest file for one case, for teams that keep their cases as code."""

from __future__ import annotations

from collections.abc import Sequence

from trailhound.errors import Invalid
from trailhound.evaluators.testset.case import Case
from trailhound.evaluators.testset.exchange.base import Format

_TEMPLATE = '''\
"""{title}"""

from trailhound.trials.single import run_case

CASE = {case!r}


def test_case(run_agent):
    result = run_case(CASE, run_agent)
    assert result.verdict == "pass", [reason.text for reason in result.reasons] + result.missing
'''


class PytestFile(Format):
    """The case is in the file as the text of its YAML; `run_agent` is the fixture that `pytest --testset` uses too."""

    name = "pytest"
    suffix = ".py"
    single = True

    def write(self, cases: Sequence[Case]) -> str:
        if len(cases) != 1:
            raise Invalid(f"a pytest file holds one case, not {len(cases)}: name one case file", reason="exchange")
        title = cases[0].title.encode("ascii", "replace").decode().replace("\\", "/").replace('"', "'")
        return _TEMPLATE.format(title=" ".join(title.split()), case=cases[0].to_yaml())
