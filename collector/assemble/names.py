"""The sessions or users that the spans of a trace name: nearly always one, which needs no set."""

from __future__ import annotations

Names = tuple[str, ...] | set[str]
"""Different names."""


def with_name(names: Names, name: str) -> Names:
    """`names`, which is of no use any more, with one that it does not have."""
    if isinstance(names, set):
        names.add(name)
        return names
    return {*names, name} if names else (name,)


def differ(ours: Names, theirs: Names) -> bool:
    """Whether both have names and none in common."""
    return bool(ours and theirs) and not set(ours) & set(theirs)


def only(names: Names) -> str:
    """The name, where it is one alone."""
    return next(iter(names)) if len(names) == 1 else ""
