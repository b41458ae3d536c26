"""What to do about each alert: the pages of docs/runbooks, which the daemon serves and its notices point to."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files


@cache
def runbooks() -> dict[str, str]:
    """Name (a rule's id or an alert's name) -> page in Markdown; `docs/generate.py` keeps the file in step with docs/."""
    pages: dict[str, str] = json.loads(files("trailhound").joinpath("runbooks.json").read_text(encoding="utf-8"))
    return pages
