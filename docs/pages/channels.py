"""docs/channels.md: every kind of channel and its settings."""

from __future__ import annotations

import inspect

from pages import NOTE
from pages.configuration import rows
from pages.settings import settings
from trailhound.alert_settings import Channel as Settings
from trailhound.alert_settings import Maintenance
from trailhound.alerts.channels import channel_types

_INTRO = f"""# Channels

{NOTE}
Each entry of `alerts.channels` tells one receiver. What is told, and when, is in [alerts](alerts.md).

## Every channel

"""


def page() -> str:
    text = _INTRO + rows(list(settings(Settings)))
    for kind, cls in channel_types().items():
        about = inspect.cleandoc(cls.__doc__ or "")
        text += f"\n## {kind}\n\n{about}\n\n{rows(list(settings(cls.Options)))}"
    return f"{text}\n## Silences\n\nEach entry of `alerts.silences`:\n\n{rows(list(settings(Maintenance)))}"
