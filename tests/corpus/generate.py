"""Makes the corpus from a seed: every recipe, several times, each time with other words, counts and surroundings."""

from __future__ import annotations

import random

from tests.corpus import budgets, cycles, errors, innocent, loops
from tests.corpus.cases import RECIPES, Case, Maker
from tests.corpus.recorded import recorded

__all__ = ["DEVELOPMENT", "HELD_BACK", "generate"]

DEVELOPMENT, HELD_BACK = (5, 0), (2026, 1)
"""(seed, half of the vocabulary): the rules were mended with the first and are held to the second."""
TIMES = 3
"""How often each recipe is made."""
_RECIPES_FROM = (budgets, cycles, errors, innocent, loops)  # importing them registers the recipes


def generate(seed: int, half: int, times: int = TIMES) -> list[Case]:
    """The same cases for the same seed, in the same order."""
    rng = random.Random(seed)
    made = [case for recipe in RECIPES for _ in range(times) for case in recipe(Maker(rng, half))]
    return [*made, *recorded(rng, half)]
