"""A report as JUnit XML: every trial a test case, as continuous integration servers read it."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from trailhound.evaluators.testset.results import Results
from trailhound.evaluators.testset.trial import TrialResult

_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold (section 2.2, production 2)."""


def junit(results: Results) -> str:
    """`failure` is the agent's, `error` a fault of measuring, `skipped` a trial that the core set kept from starting."""
    trials = list(results.first().values())
    suite = ElementTree.Element(
        "testsuite",
        name=_text(results.manifest.application or "agent"),
        tests=str(len(trials)),
        failures=str(sum(t.verdict == "fail" for t in trials)),
        errors=str(sum(t.verdict == "unknown" and t.failure != "not_run" for t in trials)),
        skipped=str(sum(t.failure == "not_run" for t in trials)),
        time=f"{sum(t.measured.duration_s or 0 for t in trials):.3f}",
    )
    for trial in trials:
        _add(suite, trial)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _add(suite: ElementTree.Element, trial: TrialResult) -> None:
    case = ElementTree.SubElement(
        suite,
        "testcase",
        classname=_text(trial.case_id),
        name=f"trial {trial.number}",
        time=f"{trial.measured.duration_s or 0:.3f}",
    )
    reasons = [f"{reason.rule}: {reason.text}" for reason in trial.reasons] + trial.missing
    message = _text("; ".join(reasons) or str(trial.failure or ""))
    if trial.failure == "not_run":
        ElementTree.SubElement(case, "skipped", message=message)
    elif trial.verdict == "fail":
        ElementTree.SubElement(case, "failure", type=str(trial.failure), message=message)
    elif trial.verdict == "unknown":
        ElementTree.SubElement(case, "error", type=str(trial.failure), message=message)


def _text(value: str) -> str:
    return _NO_XML.sub("\ufffd", value)
