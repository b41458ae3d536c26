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

`false-claim` and `injection` know patterns of words, so what counts is how they do with sentences that nobody had in mind. These were written before the patterns were widened for the last time (half of `tests/corpus/unseen_third.py`: 42 claims and 31 sentences that claim nothing, 21 injected instructions and 24 other sentences, English and Chinese), and no miss among them was mended; two of its other sentences had raised a false alarm, which was mended. Whoever widened the patterns had read them, so the figures are somewhat too good:

| rule | precision | recall | sentences |
| --- | --- | --- | --- |
{answers.table(*answers.UNSEEN)}

Before, when they were new, their precision was 0.78 and 0.88, and their recall 0.17 and 0.33. That is what to expect of sentences of other trades that nobody had in mind: the half that the patterns were widened by stood at 0.26 and 0.48. Now:

| rule | precision | recall | sentences |
| --- | --- | --- | --- |
{answers.table(*answers.MENDED_LAST)}

The two rules seldom raise a false alarm; of claims and instructions in new words they miss a part, of those of a trade that they do not know most. Add your own: `tools[].claims`, `rules.injection.patterns`.

## What the figures do not say

The corpus was made by the people who made the rules. It shows that they do what they say; it is no sample of your traffic. `trailhound backtest` shows what the rules would have said of yours.

Some true loops are out of their reach on purpose, because telling them would bring false alarms: a query reworded with synonyms, a result that goes to and fro between two values, a field that varies and that nobody declared `volatile`, rounds of more than eight calls, answers that differ in a word. The bench prints how many of those are told all the same; they are in no figure.
"""
