"""docs/evaluators/detection.md: precision and recall of the rules on the half of the corpus that was held back."""

from __future__ import annotations

import sys
from pathlib import Path

from pages import NOTE

sys.path.insert(0, str(Path(__file__).parents[2]))  # the corpus is part of the tests, which are no installed package

from tests.corpus import answers
from tests.corpus.generate import HELD_BACK, generate
from tests.corpus.score import score, table


def page() -> str:
    cases = generate(*HELD_BACK)
    return f"""# How well the rules detect

{NOTE}
Measured on a labelled corpus: {len(cases)} trajectories that a seeded generator makes with a seed and a vocabulary that the rules were not mended with, among them true loops of more than ten kinds, rounds of 2 to 8 calls, polling, paging, fan-out, retries, legitimate repetition, near-duplicates, budgets, failed calls, and recordings of published agent frameworks. Each trajectory is judged step by step, as live traffic is. A finding of the wrong severity counts as a false alarm and as a miss; so does an alarm on the way that is taken back later.

{table(score(cases))}

`make bench-detection` prints these figures, and a test holds each at 0.98 or more. How the corpus is made stands in `tests/corpus/README.md`.

## Rules that read sentences

`false-claim` and `injection` know patterns of words, so what counts is how they do with sentences that nobody had in mind. These were written before the patterns were widened for the last time (`tests/corpus/unseen_second.py`: 63 claims and 62 sentences that claim nothing, 62 injected instructions and 63 other sentences, English and Chinese), and no miss among them was mended; of its sentences without a claim two had raised a false alarm, which was mended:

| rule | precision | recall | sentences |
| --- | --- | --- | --- |
{answers.table(*answers.UNSEEN)}

Before, their recall was 0.54 and 0.19. The sentences that the patterns were widened by (`tests/corpus/unseen.py`), of which 0.78 and 0.50 had been found when they were new:

| rule | precision | recall | sentences |
| --- | --- | --- | --- |
{answers.table(*answers.MENDED_LAST)}

The two rules seldom raise a false alarm; of claims and instructions in new words they miss a part, of instructions a third. Add your own: `tools[].claims`, `rules.injection.patterns`.

## What the figures do not say

The corpus was made by the people who made the rules. It shows that they do what they say; it is no sample of your traffic. `trailhound backtest` shows what the rules would have said of yours.

Some true loops are out of their reach on purpose, because telling them would bring false alarms: a query reworded with synonyms, a result that goes to and fro between two values, a field that varies and that nobody declared `volatile`, rounds of more than eight calls, answers that differ in a word. The bench prints how many of those are told all the same; they are in no figure.
"""
