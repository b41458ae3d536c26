"""The case: one production run as a task with its contract, where it came from, and what is not known of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from trailhound.config import Tool
from trailhound.errors import Invalid
from trailhound.evaluators.testset.contract import Contract
from trailhound.evaluators.testset.notation import MAX_SIZE, dump, load
from trailhound.model import Severity, Trajectory
from trailhound.section import Section
from trailhound.undocument import trajectory_from

FORMAT = "trailhound-case/1"
"""Name and version of the format; raised when an older reader would misread a newer file."""

Cause = Literal["model", "tool", "environment", "task"]

HEADING = """A production run as a test case, written by promote-trace.
Everything above `recorded` is for people to complete: the contract, the answer, what was not known.
"""


class Source(Section):
    """Where the case came from."""

    trajectory_id: str
    trace_ids: list[str]
    tenant: str = "default"
    session_id: str | None = None
    service: str
    version: str | None = Field(None, description="version of the service")
    environment: str | None = None
    agent: str | None = None
    models: list[str] = Field([], description="models that answered, else those that were asked for")
    prompt_hash: str | None = Field(None, description="of the system prompt; null: not known")
    tools_hash: str | None = Field(None, description="of the tool definitions; null: not known")
    time: str | None = Field(None, description="start of the run, RFC 3339")
    finding_ids: list[str] = Field([])
    promoted_by: str | None = None
    promoted_at: str | None = Field(None, description="RFC 3339")


class Turn(Section):
    """An earlier run of the same session."""

    trajectory_id: str
    input: Any = None
    output: Any = None


class Environment(Section):
    """What must be in place around the agent."""

    snapshot: str | None = Field(None, description="reference to the state of the world; for the team to fill in")
    tool_results: Literal["recorded"] | None = Field(
        "recorded", description="recorded: those in the recorded steps can stand in"
    )
    time_sensitive: bool | None = Field(None, description="null: nobody has said")
    tools: list[str] | None = Field(None, description="names of the tools that the agent was offered; null: not known")


class Observed(Section):
    """A finding of the recorded run, as it was told."""

    finding_id: str
    rule: str
    severity: Severity
    summary: str
    expected: str
    actual: str
    evidence: list[dict[str, str]] = Field([])
    details: dict[str, Any] = Field({})


class FailureRecord(Section):
    """What went wrong, and what people have found out about it."""

    status: str = Field(description="status of the recorded run")
    findings: list[Observed] = Field([])
    impact: str | None = None
    suspected_layer: Cause | None = Field(None, description="a person's verdict, never automatic")
    reproduce: str = ""


class Attribution(Section):
    """What was at fault, by the verdict of people who reviewed the run; never automatic."""

    cause: Cause
    by: str = Field(description="who said so; several readers are separated by commas")
    reason: str


class GoodRun(Section):
    """A run of the same task that ended well: what the case can be met by."""

    trajectory_id: str
    calls: list[str] = Field([], description="its tool calls, as `Call.key` writes them")


class Proof(Section):
    """How the contract judged the recorded run when the case was written."""

    fails: bool = Field(description="true: the case fails on its own recorded trajectory, as it must")
    breaches: list[str] = Field([])
    good_passes: bool | None = Field(None, description="true: the good run meets the contract; null: none is known")
    judged_with: str = Field(description="version of Trailhound")


class Case(Section):
    """One file of a test set."""

    format: Literal["trailhound-case/1"] = "trailhound-case/1"
    id: str
    title: str
    family: str = Field(description="variants of one task share it, so that they never lie on both sides of a split")
    intent: str | None = None
    tags: list[str] = Field([])
    split: Literal["dev", "regression", "holdout"] = "dev"
    core: bool = Field(False, description="part of the fast first set")
    input: Any = Field(None, description="exactly as recorded; null: not known")
    context: list[Turn] = Field([], description="earlier turns of the session")
    contract: Contract = Contract()
    tools: list[Tool] = Field([], description="what the agent's tools are, as in the configuration")
    environment: Environment = Environment()
    failure: FailureRecord
    attribution: Attribution | None = Field(None, description="a reviewed verdict; null: nobody has reviewed the run")
    signature: str | None = Field(None, description="hash of what failed, equal for the same fault in another run")
    good: GoodRun | None = Field(None, description="a run of the same task that went well; null: none is known")
    note: str | None = None
    redacted: dict[str, int] = Field({}, description="kind of secret -> how many were replaced by tokens")
    unknowns: list[str] = Field([], description="what could not be known")
    source: Source
    proof: Proof | None = None
    recorded: dict[str, Any] = Field(description="the run as a trajectory document; null values are left out")

    def trajectory(self) -> Trajectory:
        """The recorded run. Raises Invalid when it is none."""
        return trajectory_from(self.recorded)

    def to_yaml(self) -> str:
        """The text of the case file."""
        document = self.model_dump(mode="json")
        document["contract"] = {
            name: value for name, value in document["contract"].items() if value not in (None, [], {})
        }
        document["tools"] = [tool.model_dump(mode="json", exclude_defaults=True) for tool in self.tools]
        if document["contract"].get("budget"):
            document["contract"]["budget"] = self.contract.model_dump(mode="json", exclude_none=True)["budget"]
        return dump(document, heading=HEADING)


def parse_case(text: bytes, name: str) -> Case:
    """The case in a file's bytes; raises Invalid with one line that begins with `name`."""
    try:
        return Case.model_validate(load(text))
    except Invalid as error:
        raise Invalid(f"{name}: {error}", reason="case") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise Invalid(f"{name}: `{where}`: {first['msg']}", reason="case") from None


def read_case(path: Path) -> Case:
    """The case in a file; raises Invalid."""
    try:
        with path.open("rb") as file:
            text = file.read(MAX_SIZE + 1)
    except OSError as error:
        raise Invalid(f"{path}: cannot be read: {error.strerror}", reason="case") from None
    return parse_case(text, str(path))
