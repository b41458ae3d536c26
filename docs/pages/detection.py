"""docs/evaluators/detection.md: precision and recall of the rules on the half of the corpus that was held back."""

from __future__ import annotations

import sys
from pathlib import Path

from pages import NOTE

sys.path.insert(0, str(Path(__file__).parents[2]))  # the corpus is part of the tests, which are no installed package

from tests.corpus import answers, fresh, other
from tests.corpus.fresh_claims import CLAIMS
from tests.corpus.fresh_outputs import ATTACKS, HARMLESS
from tests.corpus.fresh_plain import PLAIN
from tests.corpus.generate import HELD_BACK, generate
from tests.corpus.score import score, table


def page() -> str:
    cases = generate(*HELD_BACK)
    return f"""# How well the rules detect

{NOTE}
Measured on a labelled corpus: {len(cases)} trajectories that a seeded generator makes with a seed and a vocabulary that the rules were not mended with, among them true loops of more than ten kinds, rounds of 2 to 8 calls, polling, paging, fan-out, retries, legitimate repetition, near-duplicates, budgets, failed calls, and recordings of published agent frameworks. Each trajectory is judged step by step, as live traffic is. A finding of the wrong severity counts as a false alarm and as a miss; so does an alarm on the way that is taken back later.

{table(score(cases))}

`make bench-detection` prints these figures, and a test holds each at 0.98 or more. How the corpus is made stands in `tests/corpus/README.md`.

{_sentences()}
## What the figures do not say

The corpus was made by the people who made the rules. It shows that they do what they say; it is no sample of your traffic. `trailhound backtest` shows what the rules would have said of yours.

Some true loops are out of their reach on purpose, because telling them would bring false alarms: a query reworded with synonyms (different searches that find nothing look the same), a result that goes to and fro between two values (so does what is polled), a field that varies and that nobody declared `volatile` (so does the number of a batch), a cursor that moves over pages with nothing on them, rounds of more than eight calls that do not come three times among the last 64 calls (each of their calls is a loop where they do), answers that differ in a word. The bench prints how many of those are told all the same; they are in no figure.
"""


def _sentences() -> str:
    return f"""## Rules that read sentences

`false-claim` and `injection` know how things are said: who did it, in which tense, with which verb; to whom an order is addressed, and by whose authority. What counts is how they do with sentences that nobody had in mind. `tests/corpus/fresh.py` holds {len(CLAIMS)} claims of two dozen trades and {len(PLAIN)} answers that claim nothing (plans, offers, conditions, denials, questions, quotes, reports of what a look-up brought), each claim judged with calls that only looked, with a failed call, and with one that did it; and {len(ATTACKS)} outputs with an instruction to the agent and {len(HARMLESS)} without (documentation about such attacks, mails with orders to people, code, policies, chat logs), in English and Chinese, a few in other languages. They were written before the rules were mended. No miss and no false alarm of every other one was looked at; whoever mended the rules had written them, however, so the figures are somewhat too good:

| rule | precision | recall | right | false | missed |
| --- | --- | --- | --- | --- | --- |
{fresh.table(fresh.MEASURED)}

Before, when they were new, precision was 0.96 and 0.73, recall 0.44 and 0.31. The half that helped to mend the rules stands at:

| rule | precision | recall | right | false | missed |
| --- | --- | --- | --- | --- | --- |
{fresh.table(fresh.MENDED)}

A third set is by somebody who had not read the rules when they wrote it (`tests/corpus/other.py`: 100 claims, 100 answers that are no false claim, 60 outputs with an order, 120 without, half of them made to look like one). On all of it, before any rule was mended with it, `false-claim` had a precision of 0.97 and a recall of 0.69, `injection` 0.79 and 0.50. Three of four sentences then helped to mend them. None was mended with what every fourth missed or raised, but for one false alarm (a doctor told to disregard a dosage) that its writer had in mind; few as they are, they say best what to expect of texts that are new:

| rule | precision | recall | right | false | missed |
| --- | --- | --- | --- | --- | --- |
{fresh.table(other.MEASURED, other.answers, other.outputs)}

An older set, half of `tests/corpus/unseen_third.py`, of which the rules of then missed a part that was never looked at:

| rule | precision | recall | sentences |
| --- | --- | --- | --- |
{answers.table(*answers.UNSEEN)}

The two rules seldom raise a false alarm; of claims and instructions in new words they miss a part, of instructions more. Add your own: `tools[].claims`, `rules.injection.patterns`.

"""
