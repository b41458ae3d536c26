"""What every part of a configuration or case file is built on."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A part of the configuration: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", validate_default=True, serialize_by_alias=True)
