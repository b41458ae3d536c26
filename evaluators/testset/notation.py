"""Cases as YAML: written in block style for people, read as plain JSON data and nothing more."""

from __future__ import annotations

import re
from typing import Any

import yaml

from trailhound.errors import Invalid

MAX_SIZE = 2**20
"""Bytes of one case file (RELIABILITY 2.6)."""
MAX_DEPTH = 50
"""Levels of nesting in one case file (RELIABILITY 2.6)."""

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class CaseLoader(_Loader):  # type: ignore[misc]
    """JSON's types only: dates, binary data, octal and sexagesimal numbers, yes and no stay the text that was written."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - yaml's own class attribute

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        mapping: dict[Any, Any] = super().construct_mapping(node, deep=deep)
        if len(mapping) != len(node.value):
            raise yaml.constructor.ConstructorError(None, None, "a key is given twice", node.start_mark)
        if not all(isinstance(key, str) for key in mapping):
            raise yaml.constructor.ConstructorError(None, None, "keys must be text", node.start_mark)
        return mapping


class CaseDumper(_Dumper):  # type: ignore[misc]
    """Block style without anchors: the same list written twice is two lists."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_LIKE_A_NUMBER = re.compile(r"[-+.]?[0-9][0-9a-fA-FxXo_:.+-]*")
"""Text that some reader of YAML 1.1 or 1.2 might take for a number or a date: span ids are the usual case."""


def _text(dumper: Any, value: str) -> Any:
    """Text of several lines as a literal block, where YAML can hold it so; what looks like a number in quotes."""
    style = "'" if _LIKE_A_NUMBER.fullmatch(value) else None
    if "\n" in value and all(c.isprintable() or c == "\n" for c in value):
        style = "|"
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


def _real(dumper: Any, value: float) -> Any:
    """As JSON writes it; PyYAML's own form of 1e17 is text to other readers of YAML 1.1."""
    return dumper.represent_scalar("tag:yaml.org,2002:float", repr(value))


for _tag, _pattern, _first in (
    ("null", r"null|~|", ["n", "~", ""]),
    ("bool", r"true|false", ["t", "f"]),
    ("int", r"-?(?:0|[1-9][0-9]*)", list("-0123456789")),
    ("float", r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", list("-0123456789")),
):
    for _class in (CaseLoader, CaseDumper):  # the dumper quotes text that the loader would take for a number
        _class.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_pattern})\\Z"), _first)

CaseDumper.add_representer(str, _text)
CaseDumper.add_representer(float, _real)


def dump(document: dict[str, Any], *, heading: str = "") -> str:
    """YAML text of JSON data, keys in their order; `heading` becomes comment lines above it."""
    body: str = yaml.dump(
        document, Dumper=CaseDumper, sort_keys=False, allow_unicode=True, width=120, default_flow_style=False
    )
    return "".join(f"# {line}\n" for line in heading.splitlines()) + body


def load(text: bytes) -> dict[str, Any]:
    """The JSON data in YAML text. Raises Invalid, naming the line, for anything that YAML can do beyond that.

    Refused: more than 1 MiB, aliases (352 bytes of them can expand to millions of nodes), tags, deep nesting, several
    documents, a key twice, keys that are no text.
    """
    if len(text) > MAX_SIZE:
        raise Invalid(f"larger than {MAX_SIZE} bytes", reason="case")
    try:
        _inspect(text)
        document = yaml.load(text, Loader=CaseLoader)
    except yaml.YAMLError as error:
        raise Invalid(f"no valid YAML: {' '.join(str(error).split())}", reason="case") from None
    except (ValueError, RecursionError, OverflowError) as error:
        raise Invalid(f"no valid YAML: {error}", reason="case") from None
    if not isinstance(document, dict):
        raise Invalid("must be a mapping", reason="case")
    return document


def _inspect(text: bytes) -> None:
    """Walk over the events, which costs no memory, before anything is built from them."""
    depth = documents = 0
    for event in yaml.parse(text, Loader=_Loader):
        line = event.start_mark.line + 1 if event.start_mark is not None else 0
        if isinstance(event, yaml.AliasEvent):
            raise Invalid(f"line {line}: aliases (*{event.anchor}) are not allowed", reason="case")
        tag = getattr(event, "tag", None)
        if tag is not None:
            raise Invalid(f"line {line}: tags ({tag}) are not allowed", reason="case")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.DocumentStartEvent):
            documents += 1
        if depth > MAX_DEPTH:
            raise Invalid(f"line {line}: nested more than {MAX_DEPTH} deep", reason="case")
        if documents > 1:
            raise Invalid(f"line {line}: a second document", reason="case")
