"""The sessions or users that the spans of a trace name."""

from __future__ import annotations


class Names:
    """Different names; nearly always one, which needs no set."""

    __slots__ = ("_all", "_one")

    def __init__(self) -> None:
        self._one: str | None = None
        self._all: set[str] | None = None

    def add(self, name: str) -> None:
        if self._one is None:
            self._one = name
        elif name != self._one:
            if self._all is None:
                self._all = {self._one}
            self._all.add(name)

    def all(self) -> set[str]:
        return self._all or (set() if self._one is None else {self._one})

    def __len__(self) -> int:
        return len(self._all) if self._all is not None else int(self._one is not None)


def differ(ours: Names, theirs: Names) -> bool:
    """Whether both have names and none in common."""
    return bool(len(ours) and len(theirs) and not ours.all() & theirs.all())
