"""The settings of review: which closed runs people look at, and how many."""

from __future__ import annotations

from pydantic import Field

from trailhound.notation import Duration, Names
from trailhound.section import Section


class Shares(Section):
    """How the room for successes is dealt among kinds of intents; need not add up to 1."""

    common: float = Field(0.4, ge=0, le=1, description="intents that many runs have")
    long_tail: float = Field(0.3, ge=0, le=1, description="intents that few runs have")
    hard: float = Field(0.3, ge=0, le=1, description="intents that match `review.hard`")


class Review(Section):
    """Sampling of closed runs for people to review. Which runs are chosen depends on their ids alone."""

    enabled: bool = Field(True, description="sample at all")
    successes: float = Field(0.2, ge=0, le=1, description="share of the runs that went well; failed ones are all taken")
    room: int = Field(
        200, ge=0, le=5_000, description="most successes of one week; within a kind those with the lowest hash"
    )
    faults: int = Field(2_000, ge=0, le=5_000, description="most failed and partly failed runs of one week")
    weeks: int = Field(
        4, ge=1, le=52, description="weeks (by start of the run) that stay in the queue; verdicts are kept for good"
    )
    shares: Shares = Shares()
    common: float = Field(0.05, gt=0, le=1, description="an intent with at least this share of a week's runs is common")
    hard: Names = Field(
        [], description="intents known to be hard (globs); the intent is the task label, else the agent"
    )
    second: float = Field(0.2, ge=0, le=1, description="share of reviewed runs that ask for a second reader")
    hold: Duration = Field(7200.0, gt=0, description="a run that somebody took is theirs for this long")
