"""What a labelled trajectory is, and the maker that its parts are put together with."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from trailhound.model import Failure, RunStatus, Scope, Step
from trailhound.testing import llm_step, tool_step

Labels = dict[str, str]
"""Rule (with the metric for budgets: `budget:turns`) -> the severity that it must speak with."""


@dataclass
class Case:
    """One trajectory (or the runs of one session) and what must be said of it when it has ended."""

    kind: str
    """`loop: reworded query`; what it is an example of."""
    steps: list[Step]
    labels: Labels = field(default_factory=dict)
    status: RunStatus = "completed"
    scope: Scope = "trajectory"
    runs: list[str] = field(default_factory=list)
    """The run of each step, where there are several."""
    tools: list[dict[str, Any]] = field(default_factory=list)
    rules: dict[str, Any] = field(default_factory=dict)


TOOLS = (
    ["search_kb", "find_article", "lookup_order", "get_invoice", "read_file", "run_query", "list_tickets", "fetch_url"],
    [
        "query_docs",
        "web_search",
        "get_shipment",
        "load_report",
        "open_page",
        "count_rows",
        "browse_orders",
        "call_service",
    ],
)
NOUNS = (
    ["squeaky disc brake", "late parcel refund rules", "battery warranty claim form", "winter tyre size table", "torn saddle cover price"],
    ["broken gear cable repair", "child trailer safety notes", "rusty chain cleaning advice", "courier pickup window list", "helmet return address label"],
)  # fmt: skip
EMPTY: tuple[Any, ...] = (
    "no results",
    [],
    {"hits": 0},
    "",
    {"rows": [], "total": 0},
    "nothing found",
    {"status": "unchanged"},
    None,
)
"""Results that say nothing new; None: they were not recorded."""


class Maker:
    """Writes one trajectory: calls one after another with the narration of the model between them.

    `half` picks the vocabulary: what the rules were mended with shares no tool and no phrase with what they are held to.
    """

    def __init__(self, rng: random.Random, half: int) -> None:
        self.rng = rng
        self.half = half
        self.steps: list[Step] = []
        self.at = 0.0
        self._noise = 0

    @property
    def tool(self) -> str:
        return self.rng.choice(TOOLS[self.half])

    @property
    def phrase(self) -> str:
        return self.rng.choice(NOUNS[self.half])

    @property
    def nothing(self) -> Any:
        return self.rng.choice(EMPTY)

    def uuid(self) -> str:
        digits = f"{self.rng.getrandbits(128):032x}"
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    def time(self) -> str:
        return f"2026-11-{self.rng.randint(10, 28)}T{self.rng.randint(10, 23)}:{self.rng.randint(10, 59)}:{self.rng.randint(10, 59)}Z"

    def count(self, warning: bool) -> tuple[int, str]:
        """How often to repeat for a warning or for a critical finding, and which it is."""
        return (self.rng.randint(3, 5), "warning") if warning else (self.rng.randint(6, 12), "critical")

    def call(self, name: str, arguments: Any = None, result: Any = None, **fields: Any) -> Step:
        """The next call, after the last has ended, often with a word of the model before it."""
        if self.rng.random() < 0.5:
            self.say()
        self.at += self.rng.uniform(1, 4)
        step = tool_step(self.at, name, arguments, result, lasts=self.rng.uniform(0.1, 0.9), **fields)
        self.steps.append(step)
        return step

    def fail(self, name: str, arguments: Any, kind: str, message: str) -> Step:
        return self.call(name, arguments, None, status="error", error=Failure(kind, message))

    def say(self, output: str | None = None, question: str = "please see to my order", **fields: Any) -> Step:
        """A model call; without `output` its text is new each time."""
        self.at += self.rng.uniform(1, 2)
        text = output if output is not None else f"step {len(self.steps)}: {self.phrase}"
        step = llm_step(self.at, (self.rng.randint(200, 2000), self.rng.randint(10, 200)), "0.001", **fields)
        step.input, step.output = question, text
        self.steps.append(step)
        return step

    def work(self, calls: int) -> None:
        """Useful calls: each asks something else and brings something else."""
        for _ in range(calls):
            self._noise += 1
            number = self._noise * 7 + self.rng.randint(0, 6)
            self.call(self.tool, {"id": f"N-{number}", "limit": self.rng.choice([5, 10])}, {"found": number})

    def around(self) -> int:
        """How many useful calls to put before or between: few, mostly."""
        return self.rng.choice([0, 0, 1, 2, 4])


Recipe = Callable[[Maker], Iterator[Case]]
RECIPES: list[Recipe] = []


def recipe(function: Recipe) -> Recipe:
    """Register a recipe: it yields variants of one kind of trajectory."""
    RECIPES.append(function)
    return function
