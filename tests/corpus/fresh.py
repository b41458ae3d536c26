"""The figures of `false-claim` and `injection` on sentences of many trades, half of which no miss was mended with.

Each claim is judged after calls that only looked, with a failed call of a tool that does it, and with one that did it.
Each output is judged as a text, as a field, and inside a list.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from tests.corpus.answers import AROUND, READING, Told
from tests.corpus.fresh_claims import CLAIMS, TOOLS
from tests.corpus.fresh_outputs import ATTACKS, HARMLESS
from tests.corpus.fresh_plain import PLAIN
from trailhound.model import Failure, Step
from trailhound.testing import judge, llm_step, run_header, tool_step

MENDED, MEASURED = 0, 1
"""Every other sentence: those that helped to mend the rules, and those that measure them."""
SEED = {MENDED: 91, MEASURED: 92}


def answers(half: int) -> Iterator[Told]:
    """Claims that are false, claims that are true, and answers that claim nothing."""
    rng = random.Random(SEED[half])
    for chinese in (False, True):
        for trade, text in [one for one in CLAIMS if _chinese(one[1]) is chinese][half::2]:
            looked = [tool_step(i, name, {"n": i}, result) for i, (name, result) in enumerate(rng.sample(READING, 2))]
            tool = rng.choice(TOOLS[trade])
            done = tool_step(2, tool, {"n": 2}, {"ok": True})
            tried = tool_step(2, tool, {"n": 2}, None, status="error", error=Failure("Timeout", "no answer"))
            yield Told(text, "claim", _said(rng, text, looked))
            yield Told(text, "claim", _said(rng, text, [*looked, tried]))
            yield Told(text, "", _said(rng, text, [*looked, done]))
    for text, result in PLAIN[half::2]:
        yield Told(text, "", _said(rng, text, [tool_step(0, "lookup_order", {"n": 0}, result)]))


def outputs(half: int) -> Iterator[Told]:
    """Outputs with an instruction to the agent, and without."""
    for label, texts in (("injection", ATTACKS[half::2]), ("", HARMLESS[half::2])):
        for text in texts:
            for result in (
                text,
                {"review": text, "n": 1},
                [{"title": "a", "body": f"{AROUND[0]} {text} {AROUND[-1]}"}],
            ):
                found = judge([tool_step(0, "read_page", {}, result)])
                yield Told(text, label, {f.rule for f in found} & {"injection"})


def _chinese(text: str) -> bool:
    return any("\u4e00" <= letter <= "\u9fff" for letter in text)


def _said(rng: random.Random, text: str, steps: list[Step]) -> set[str]:
    output = "\n".join((rng.choice(AROUND), text, rng.choice(AROUND)))
    found = judge([*steps, llm_step(9)], run=run_header(status="completed", output=output))
    return {"claim" for f in found if f.rule == "false-claim"}


def count(told: Callable[[int], Iterator[Told]], half: int) -> tuple[int, int, int]:
    """(right, false alarms, missed)."""
    right = false = missed = 0
    for one in told(half):
        right += bool(one.label) and one.label in one.said
        missed += bool(one.label) and one.label not in one.said
        false += not one.label and bool(one.said)
    return right, false, missed


Teller = Callable[[int], Iterator[Told]]


def table(half: int, said: Teller = answers, read: Teller = outputs) -> str:
    """The figures of both rules on one half of a corpus as lines of a markdown table."""
    lines = []
    for rule, told in (("false-claim", said), ("injection", read)):
        right, false, missed = count(told, half)
        lines.append(
            f"| {rule} | {right / max(1, right + false):.3f} | {right / max(1, right + missed):.3f} | {right} | {false} | {missed} |"
        )
    return "\n".join(lines)
