"""Whom alerts are told to. A new kind of channel is one file here with a subclass of `Channel` that has a `kind`."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Iterable

from trailhound.alert_settings import Alerts
from trailhound.alert_settings import Channel as Settings
from trailhound.alerts.channels.base import Channel
from trailhound.alerts.wording import Pages
from trailhound.checked import near, validated
from trailhound.clock import Clock
from trailhound.errors import Invalid


@functools.cache
def channel_types() -> dict[str, type[Channel]]:
    """Every kind of channel by its type, in alphabetical order."""
    found: dict[str, type[Channel]] = {}
    for module in pkgutil.iter_modules(__path__):
        for cls in vars(importlib.import_module(f"{__name__}.{module.name}")).values():
            if isinstance(cls, type) and issubclass(cls, Channel) and "kind" in vars(cls):
                found[cls.kind] = cls
    return dict(sorted(found.items()))


def make_channels(settings: Alerts, clock: Clock) -> list[Channel]:
    """The configured channels; raises Invalid naming the setting that is wrong."""
    pages = Pages(settings.link, settings.runbooks)
    _check_names(settings.channels)
    return [_make(f"alerts.channels.{index}", wanted, pages, clock) for index, wanted in enumerate(settings.channels)]


def _check_names(channels: Iterable[Settings]) -> None:
    names = [channel.name for channel in channels]
    for name in names:
        if names.count(name) > 1:
            raise Invalid(f"alerts.channels: two channels have the name `{name}`", reason="config")


def _make(where: str, wanted: Settings, pages: Pages, clock: Clock) -> Channel:
    types = channel_types()
    if wanted.type not in types:
        hint = (
            f"{near(wanted.type, list(types))}known: {', '.join(types)}; `apprise` is Slack, PagerDuty, mail and others"
        )
        raise Invalid(f"{where}.type: no channel type `{wanted.type[:40]}`; {hint}", reason="config")
    cls = types[wanted.type]
    return cls(wanted, validated(cls.Options, wanted.options, where), pages, clock, where)
