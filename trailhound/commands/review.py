"""`trailhound review`: the queue of runs that people look at, and their verdicts."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import quote

import typer

from trailhound import options
from trailhound.asking import WHEN, WHO, Command, answer, group, listing

Answer = Literal["yes", "no", "unclear"]
Id = Annotated[str, typer.Argument(metavar="ID", help="Trajectory id.")]
By = Annotated[
    str | None,
    typer.Option("--by", metavar="NAME", help="Who you are; the user's name without it.", show_default=False),
]
State = Annotated[
    Literal["waiting", "taken", "second", "reviewed", "agreed", "disputed"] | None,
    typer.Option("--state", help="Only in this state; `second` waits for a second reader."),
]
Stratum = Annotated[
    Literal["fault", "common", "long_tail", "hard"] | None,
    typer.Option("--stratum", help="Only those sampled for this reason."),
]
SHOW = "reviews.show_review"


def register(app: typer.Typer) -> None:
    filters = {"state": State, "stratum": Stratum, **WHO, **WHEN}
    help = "List the runs that were sampled or reviewed, newest first."
    commands: dict[str, Command] = {
        "list": listing("reviews", help, filters, "reviews.show_reviews"),
        "show": show_one,
        "take": take,
        "judge": judge,
        "stats": stats,
    }
    group(app, "review", "Runs for people to review, and what they said.", commands)


def show_one(trajectory_id: Id, output: options.Format = "text", api: options.Api = options.API) -> None:
    """Show one run's reviews: what stands, and everything that was done, by whom and when."""
    from trailhound.client import Client

    path = f"/api/v1/reviews/{quote(trajectory_id, safe='')}"
    found = Client(api).get(path, what=f"sampled or reviewed run {trajectory_id}", has=("trajectory_id", "judgements"))
    answer(found, output, SHOW)


def take(trajectory_id: Id, by: By = None, output: options.Format = "text", api: options.Api = options.API) -> None:
    """Take a run for `review.hold`, so that nobody else reads it at the same time."""
    answer(_send(api, trajectory_id, "take", {"by": by or _user()}), output, SHOW)


def judge(
    trajectory_id: Id,
    verdict: Annotated[
        Literal["S", "P", "F"], typer.Option("--verdict", help="S succeeded, P partly, F failed.", show_default=False)
    ],
    goal: Annotated[Answer, typer.Option("--goal", help="Could the goal be reached?", show_default=False)],
    steps: Annotated[
        Answer, typer.Option("--steps", help="Is each step supported by what was known?", show_default=False)
    ],
    tools: Annotated[Answer, typer.Option("--tools", help="Were the tool calls correct?", show_default=False)],
    context: Annotated[Answer, typer.Option("--context", help="Was the context made use of?", show_default=False)],
    ending: Annotated[Answer, typer.Option("--ending", help="Was the ending reasonable?", show_default=False)],
    cause: Annotated[
        Literal["model", "tool", "environment", "task"] | None,
        typer.Option("--cause", help="What was at fault; needed for P and F."),
    ] = None,
    reason: Annotated[str, typer.Option("--reason", help="Why; needed for P and F.")] = "",
    by: By = None,
    output: options.Format = "text",
    api: options.Api = options.API,
) -> None:
    """Put your verdict on a run on record. A later one of yours replaces it; both stay in the trail."""
    items = {
        "goal_reachable": goal,
        "steps_supported": steps,
        "tool_calls_correct": tools,
        "context_used": context,
        "ending_reasonable": ending,
    }
    told = {"by": by or _user(), "verdict": verdict, "items": items, "cause": cause, "reason": reason}
    answer(_send(api, trajectory_id, "judge", told), output, SHOW)


def stats(output: options.Format = "text", api: options.Api = options.API) -> None:
    """Weighted completion (S + P / 2) / N of the reviewed runs, by cause and by model, and how readers agree."""
    from trailhound.client import Client

    found = Client(api).get("/api/v1/reviews/stats", has=("weighted_completion", "second_readers"))
    answer(found, output, "reviews.show_stats")


def _send(api: str, trajectory_id: str, what: str, told: dict[str, Any]) -> dict[str, Any]:
    from trailhound.client import Client

    path = f"/api/v1/reviews/{quote(trajectory_id, safe='')}/{what}"
    return Client(api).send("POST", path, told, what=f"trajectory {trajectory_id}", has=("trajectory_id", "judgements"))


def _user() -> str:
    """Raises BadParameter where the user has no name, as in many containers."""
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        raise typer.BadParameter("say who you are", param_hint="--by") from None
