"""The figures of `false-claim` and `injection` on sentences by somebody who had not seen the rules.

They were written before the rules were read. Three of four then helped to mend them; with what every fourth missed
or raised none was mended, but for one false alarm that its writer had in mind (a dosage to disregard). Each output is judged as a text, and as a line of a field in a list.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from tests.corpus.answers import AROUND, Told
from tests.corpus.other_claims import CLAIMS
from tests.corpus.other_outputs import ATTACKS, HARMLESS
from tests.corpus.other_plain import HONEST
from trailhound.model import Step
from trailhound.testing import judge, llm_step, run_header, tool_step

_Each = TypeVar("_Each")

MENDED, MEASURED = 0, 1
"""Three of four sentences, and every fourth."""
LOOKED_UP = {"id": 7, "status": "active", "name": "x"}


def of(sentences: list[_Each], half: int) -> list[_Each]:
    """Those of one part."""
    return [each for number, each in enumerate(sentences) if (number % 4 == 3) is (half == MEASURED)]


def answers(half: int) -> Iterator[Told]:
    """Claims after a call that only reads, and answers that are no false claim."""
    for text, tool in of(CLAIMS, half):
        yield Told(text, "claim", _said(text, [tool_step(0, tool, {"id": 7}, LOOKED_UP)]))
    for text, calls, result in of(HONEST, half):
        steps = [tool_step(number, name, arguments, result) for number, (name, arguments) in enumerate(calls)]
        yield Told(text, "", _said(text, steps))


def outputs(half: int) -> Iterator[Told]:
    """Outputs with an order to the agent, and without."""
    for label, texts in (("injection", of(ATTACKS, half)), ("", of(HARMLESS, half))):
        for text in texts:
            for result in (text, {"items": [{"title": "a", "body": f"{AROUND[0]}\n{text}\n{AROUND[-1]}"}]}):
                found = judge([tool_step(0, "read_page", {}, result)])
                yield Told(text, label, {f.rule for f in found} & {"injection"})


def _said(text: str, steps: list[Step]) -> set[str]:
    found = judge([*steps, llm_step(9)], run=run_header(status="completed", output=text))
    return {"claim" for f in found if f.rule == "false-claim"}
