"""Rules that a configuration speaks of: who names one that is not there would wait for it for ever."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from trailhound.checked import near
from trailhound.config import Config
from trailhound.errors import Invalid


def check_names(config: Config, rules: list[str]) -> None:
    """Raises Invalid for a rule, or a glob over rules, that none of `rules` matches."""
    for where, globs in _spoken_of(config):
        check_globs(where, globs, rules)


def check_globs(where: str, globs: Iterable[str], rules: list[str], reason: str = "config") -> None:
    """As `check_names`, of the globs that stand at `where`."""
    for glob in globs:
        if not any(fnmatchcase(rule, glob) for rule in rules):
            hint = near(glob, rules)
            raise Invalid(f"`{where}`: `{glob[:60]}` is no rule; {hint}known rules: {', '.join(rules)}", reason=reason)


def _spoken_of(config: Config) -> Iterator[tuple[str, list[str]]]:
    for index, channel in enumerate(config.alerts.channels):
        yield f"alerts.channels.{index}.rules", channel.rules
    for index, silence in enumerate(config.alerts.silences):
        yield f"alerts.silences.{index}.rules", silence.rules
    for index, suppression in enumerate(config.suppress):
        yield f"suppress.{index}.rule", [suppression.rule]
