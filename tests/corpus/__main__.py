"""`make bench-detection`: precision and recall of each rule on the development half and on the half that was held back."""

from __future__ import annotations

import sys

from tests.corpus import answers, fresh, other
from tests.corpus.generate import DEVELOPMENT, HELD_BACK, generate
from tests.corpus.hard import hard
from tests.corpus.score import Score, judged, score, table


def main() -> None:
    for name, (seed, half) in (("development", DEVELOPMENT), ("held back", HELD_BACK)):
        cases = generate(seed, half)
        scores = score(cases)
        print(f"{name}: seed {seed}, {len(cases)} trajectories, {len({c.kind for c in cases})} kinds")
        print(table(scores))
        print(answers.table(seed, half))
        if "-v" in sys.argv:
            _explain(scores)
    print("answers and outputs that the rules were mended with last")
    print(answers.table(*answers.MENDED_LAST))
    print("answers and outputs whose misses no rule was mended with")
    print(answers.table(*answers.UNSEEN))
    for name, half in (("that helped to mend the rules", fresh.MENDED), ("that measure them", fresh.MEASURED)):
        print(f"answers and outputs of many trades {name} (right, false, missed)")
        print(fresh.table(half))
    for name, half in (("that helped to mend the rules", other.MENDED), ("that measure them", other.MEASURED)):
        print(f"answers and outputs by somebody else {name} (right, false, missed)")
        print(fresh.table(half, other.answers, other.outputs))
    beyond = hard(*HELD_BACK)
    told = sum(set(case.labels) <= set(judged(case)[0]) for case in beyond)
    print(f"loops beyond the rules (in no figure above): {told} of {len(beyond)} told")


def _explain(scores: dict[str, Score]) -> None:
    for one in scores.values():
        for line in [*(f"missed {m}" for m in one.missed), *(f"false  {f}" for f in one.false)]:
            print(f"  {line}")


if __name__ == "__main__":
    main()
