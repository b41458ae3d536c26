"""CrewAI's own telemetry: counts of what was built, sent to its maker; no steps. Its runs come by other instrumentations."""

from __future__ import annotations

from trailhound.collector.dialects.base import Dialect, Seen
from trailhound.collector.dialects.coerce import literal
from trailhound.collector.dialects.toolcalls import tool_call
from trailhound.model import Step

_ARGUMENTS = " arguments="
_BEGINS, _GOES_ON = "You are ", "\nYour personal goal is: "


def agent_in_prompt(system: object) -> str | None:
    """The agent's name in the system prompt that CrewAI makes: `You are ROLE. BACKSTORY`, then `Your personal goal is: GOAL`.

    The model calls of a run that was killed are its only spans (CrewAI 1.15 under OpenLLMetry): nothing else names it.
    """
    if not isinstance(system, str) or not system.startswith(_BEGINS) or _GOES_ON not in system:
        return None
    return system[len(_BEGINS) :].partition("\n")[0].partition(". ")[0].rstrip(".") or None


def unwrap_action(step: Step) -> None:
    """Take the arguments out of the agent's action, which MLflow (3.8) records with all tools beside it."""
    tool = step.tool
    given = tool.arguments if tool is not None else None
    action = given.get("agent_action") if isinstance(given, dict) else None
    if tool is not None and isinstance(action, dict) and action.get("tool") == tool.name:
        step.tool = tool_call(tool.name, tool.call_id, action.get("tool_input"), tool.result)


def unwrap_calling(step: Step) -> None:
    """Take the arguments out of the repr of a ToolCalling (1.6 under OpenInference 0.1.17), beside what the model wrote."""
    tool = step.tool
    given = tool.arguments if tool is not None else None
    calling = given.get("calling") if isinstance(given, dict) and "tool_string" in given else None
    if tool is not None and isinstance(calling, str):
        arguments = literal(calling.partition(_ARGUMENTS)[2])
        step.tool = tool_call(tool.name, tool.call_id, arguments or None, tool.result)


def refine(step: Step, seen: Seen) -> None:
    step.kind, step.container, step.usage = "other", False, None


DIALECT = Dialect(name="crewai", order=96, scopes=("crewai.telemetry",), refine=refine)
