"""What an agent is made of, as its model calls show: the hash of its system prompt, of its tools, and the tools' names."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import orjson
import re2  # type: ignore[import-untyped]

from trailhound.canonical import canonical_json, parse_json
from trailhound.expressions import re2_options
from trailhound.model import Step

MAX_TEXT = 65_536
"""Characters of a prompt or of one tool's definition that are hashed (own choice: far above what agents send)."""
MAX_TOOLS = 1_000
CACHED = 256
"""Texts whose hash is remembered: every model call of a run repeats its prompt and tools."""
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_VARYING = re2.compile(
    (
        r"\b[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\b"
        r"|\b\d{4}-\d\d?-\d\d?(?:[T ]\d\d?:\d\d(?::\d\d(?:[.,]\d+)?)?)?(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?"
        r"|\b\d{4}/\d\d?/\d\d?\b|\b\d\d?[/.]\d\d?[/.]\d{2,4}\b|\d{4}年\d\d?月\d\d?日|星期[一二三四五六日天]"
        rf"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\b\d\d?(?:st|nd|rd|th)?(?: of)? {_MONTH}\b\.?(?:,? \d{{4}})?|\b{_MONTH}\.? \d\d?(?:st|nd|rd|th)?\b(?:,? \d{{4}})?"
        r"|\b\d\d?:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[ap]\.?m\b\.?)?(?: ?(?:UTC|GMT|[A-Z]{3,4}\b|[+-]\d\d:?\d\d))?|\b1[0-9]{9}(?:[0-9]{3}){0,3}\b"
    ).encode(),
    re2_options(2**23, case_sensitive=False),
)
"""Dates, times and UUIDs: a prompt that names today is the same prompt tomorrow. As RE2 on bytes, since Python's `re`
takes 25 times as long (0.6 ms for 1 kB), and a prompt with the time of day in it is new in every call."""
_LISTS = ("tools", "functions", "function_declarations", "functionDeclarations")
"""Keys below which lists of definitions lie (Bedrock, OpenAI's old form, Google)."""
_INSIDE = ("function", "toolSpec", "tool", "json_schema")
"""Keys that wrap one definition (OpenAI Chat Completions, Bedrock, OpenInference)."""


def prompt_hash(prompt: Any) -> str | None:
    """16 hex digits, the same for prompts that differ only in dates, times, UUIDs and white space; None for none."""
    if prompt is None:
        return None
    return hash_of_text(prompt if isinstance(prompt, str) else as_text(prompt))


def tools_hash(definitions: Any) -> str | None:
    """As `prompt_hash`, for tool definitions in any dialect's form; their order does not count. None for none."""
    if isinstance(definitions, str):
        return _hash_of_definitions(definitions)
    return _hash_of_tools(definitions)


@functools.lru_cache(CACHED)
def _hash_of_definitions(text: str) -> str | None:
    return _hash_of_tools(parse_json(text))


def _hash_of_tools(definitions: Any) -> str | None:
    if definitions is None or definitions in ([], {}, ""):
        return None
    if isinstance(definitions, list):
        return hash_of_text("\n".join(sorted(as_text(parse_json(tool)) for tool in definitions)))
    return hash_of_text(as_text(definitions))


def tool_names(definitions: Any) -> list[str] | None:
    """Names in tool definitions of any dialect's form, sorted; None where they cannot be read (a text that was cut)."""
    read = parse_json(definitions)
    if isinstance(read, str) or read is None:
        return None
    names = set()
    for number, name in enumerate(_names(read)):
        if name is None or number >= MAX_TOOLS:
            return None
        names.add(name)
    return sorted(names)


def _names(read: Any, depth: int = 4) -> Iterator[str | None]:
    """The name of each definition; None for one that says none."""
    if isinstance(read, list):
        for item in read:
            yield from _names(parse_json(item), depth - 1) if depth else (None,)
    elif isinstance(read, str):
        yield read if read and len(read) <= 256 and read[0] not in "{[" else None
    elif isinstance(read, dict):
        yield from _names_of_object(read, depth)
    else:
        yield None


def _names_of_object(read: dict[str, Any], depth: int) -> Iterator[str | None]:
    held = [parse_json(read[key]) for key in _LISTS if isinstance(parse_json(read.get(key)), list)]
    inside = next((read[key] for key in _INSIDE if isinstance(parse_json(read.get(key)), dict)), None)
    if isinstance(read.get("name"), str):
        yield read["name"]
    elif held and depth:
        for items in held:
            yield from _names(items, depth - 1)
    elif inside is not None and depth:
        yield from _names(parse_json(inside), depth - 1)
    elif isinstance(read.get("type"), str):  # tools that the model's host brings, such as {"type": "web_search"}
        yield read["type"]
    elif read and all(isinstance(item, dict) for item in read.values()):  # name -> definition
        yield from read
    else:
        yield None


def makeup_document(steps: Sequence[Step]) -> dict[str, Any]:
    """`{"tools", "tools_hash", "prompt_hash"}` of a run; null where its model calls do not show it.

    `tools` are the names that its agents were offered or called. They are known when of each agent one model call at
    least tells its definitions: an agent that tells none may have had any tool.
    """
    models = [step for step in steps if step.kind == "llm"]  # of two reports of a call the uncounted one may say it
    return {
        "tools": _offered(steps, models),
        "tools_hash": _joined(tools_hash(step.tool_definitions) for step in models),
        "prompt_hash": _joined(prompt_hash(step.system_prompt) for step in models),
    }


def _offered(steps: Sequence[Step], models: Sequence[Step]) -> list[str] | None:
    known: dict[str, set[str] | None] = {}
    for step in models:
        names = tool_names(step.tool_definitions)
        before = known.setdefault(step.agent or "", None)
        if names is not None:
            known[step.agent or ""] = (before or set()).union(names)
    if not known or any(names is None for names in known.values()):
        return None
    called = {step.tool.name for step in steps if step.tool is not None and step.counted}
    return sorted(called.union(*(names for names in known.values() if names is not None)))


def _joined(hashes: Iterable[str | None]) -> str | None:
    """The one hash, or one over several: a run of several agents has several prompts."""
    found = sorted({one for one in hashes if one is not None})
    return None if not found else found[0] if len(found) == 1 else hash_of_text("\n".join(found))


def as_text(value: Any) -> str:
    """JSON with sorted keys; a text as it is."""
    if isinstance(value, str):
        return value
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:  # lone surrogates, numbers beyond 64 bits
        return canonical_json(value).decode("utf-8", "replace")


@functools.lru_cache(CACHED)
def hash_of_text(text: str) -> str:
    """16 hex digits of a text without what varies from day to day."""
    kept = _VARYING.split(text[:MAX_TEXT].encode("utf-8", "replace"))  # half the time of `sub`
    same = b"~".join(kept).decode().replace("\\n", " ")
    return hashlib.blake2b(" ".join(same.split()).encode(), digest_size=8).hexdigest()
