"""Reviews as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from trailhound.show.screen import Column, table
from trailhound.show.text import count, moment, plain

COLUMNS = (
    Column("RUN", most=32),
    Column("STATE"),
    Column("WHY"),
    Column("VERDICT"),
    Column("AGENT", most=24),
    Column("INTENT", most=32, wide=110),
    Column("RULES", most=32, wide=90),
    Column("STARTED", wide=100),
)


def show_reviews(console: Console, reviews: Sequence[dict[str, Any]]) -> None:
    """A table, newest first as given."""
    table(console, COLUMNS, [_row(review) for review in reviews])
    console.print(Text(count(len(reviews), "run"), style="dim"))


def _row(review: dict[str, Any]) -> list[Text]:
    verdict = " ".join(filter(None, (review["verdict"], review["cause"])))
    return [
        Text(plain(review["trajectory_id"]), style="bold"),
        Text(review["state"]),
        Text(plain(review["stratum"] or "asked for")),
        Text(plain(verdict or "-")),
        Text(plain(review["agent"] or "unknown", 80)),
        Text(plain(review["intent"], 80)),
        Text(plain(", ".join(review["rules"]) or "-", 80)),
        Text(moment(review["started_at"]) if review["started_at"] else "-"),
    ]


def show_review(console: Console, review: dict[str, Any]) -> None:
    """One run: what stands, and who did what."""
    console.print(Text(plain(review["trajectory_id"]), "bold").append(f"  {review['state']}", style="none"))
    console.print(
        Text(f"agent {plain(review['agent'] or 'unknown')} of {plain(review['service'])}, {review['outcome']}")
    )
    for deed in review.get("trail", []):
        console.print(Text(f"{moment(deed['at'])}  {plain(deed['by'])} {_did(deed)}"), soft_wrap=True)
    console.print(Text(f"  trailhound trajectories show {plain(review['trajectory_id'])}", style="dim"))


def _did(deed: dict[str, Any]) -> str:
    said = deed.get("said")
    if not said:
        return "took it"
    items = ", ".join(f"{name.replace('_', ' ')}: {answer}" for name, answer in said["items"].items())
    cause = f", {said['cause']} at fault: {plain(said['reason'], 400)}" if said["cause"] else ""
    return f"said {said['verdict']}{cause} ({items})"


def show_stats(console: Console, stats: dict[str, Any]) -> None:
    """The numbers of what was reviewed."""
    console.print(Text(f"reviewed   {stats['runs']}: {stats['S']} S, {stats['P']} P, {stats['F']} F"))
    console.print(Text(f"completion {_share(stats['weighted_completion'])}  (S + P / 2) / N"))
    for cause, number in stats["by_cause"].items():
        console.print(Text(f"  at fault {cause}: {number}"))
    second = stats["second_readers"]
    agreement = f"{_share(second['agreement'])} the same verdict, {second['disputed']} disputed"
    console.print(Text(f"second     {count(second['runs'], 'run')} read twice, {agreement}"))
    for model in stats["models"]:
        who = " ".join(filter(None, (model["agent"] or model["service"], model["version"], model["models"])))
        share = _share(model["weighted_completion"])
        console.print(
            Text(f"model      {plain(who, 120)}: {share} of {count(model['runs'], 'run')}, its own faults alone")
        )
    waiting = ", ".join(f"{number} {kind}" for kind, number in stats["waiting"].items())
    console.print(Text(f"waiting    {waiting or 'nothing'}"))


def _share(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.1%}"
