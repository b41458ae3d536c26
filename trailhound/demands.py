"""What a task demands of a run: one notation for `contracts` in the configuration and for the contract of a case."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from trailhound.section import Section


class OrderStep(Section):
    """A place in an order that several tools can take, or none."""

    any_of: list[str] = Field(min_length=1, description="names of tools; a call of any of them is this step")
    optional: bool = Field(False, description="need not come; when it comes, then in its place")


class Order(Section):
    """In which order tools must be called."""

    mode: Literal["EXACT", "IN_ORDER", "ANY_ORDER"] = Field(
        "IN_ORDER", description="EXACT: these calls and no others; IN_ORDER and ANY_ORDER allow further calls between"
    )
    tools: list[str | OrderStep] = Field(
        [], description="names of tools, or `{any_of: [..], optional: true}` for alternative and optional steps"
    )
    max_calls: int | None = Field(None, ge=0, description="the run makes at most so many tool calls")


class ArgumentCheck(Section):
    """What one argument of a tool must be; every given check must hold."""

    equals: Any = Field(None, description="equal as JSON, 1 and 1.0 included; null checks nothing")
    one_of: list[Any] | None = Field(None, description="equal to one of these")
    between: tuple[float, float] | None = Field(None, description="a number from, to (both included)")
    min: float | None = Field(None, description="a number of at least this")
    max: float | None = Field(None, description="a number of at most this")
    matches: str | None = Field(None, description="RE2 pattern of text")
    cel: str | None = Field(None, description="CEL over `value`, true when the argument is right")
    optional: bool = Field(False, description="the argument may be absent")


class Demands(Section):
    """Which tools a run must call and must not, in which order, with which arguments; names may be globs."""

    must: list[str] = Field([], description="tools that must be called")
    must_not: list[str] = Field([], description="tools that must not be called")
    order: Order | None = Field(None, description="the order of the calls, and how many there may be")
    arguments: dict[str, dict[str, ArgumentCheck]] = Field(
        {}, description="tool -> argument (`address.city`, `items.0.sku`; `.` is all arguments) -> check"
    )


class TaskContract(Demands):
    """What the runs of an agent or a task must do; of several that match a run the first wins."""

    agent: str | None = Field(None, description="name of the agent, may be a glob; either this or `task`")
    task: str | None = Field(None, description="label of the task (see `runs.task`), may be a glob")

    @model_validator(mode="after")
    def _names_one(self) -> TaskContract:
        if (self.agent is None) == (self.task is None):
            raise ValueError('say `agent` or `task`, one of them; `agent: "*"` is every agent')
        return self

    @property
    def subject(self) -> str:
        """Whom it is about, as findings name it."""
        if self.agent == "*":
            return "every agent"
        return f"agent {self.agent}" if self.agent is not None else f"task {self.task}"
