"""trailhound/runbooks.json: the pages of docs/runbooks in one file, so that an installed daemon has them to serve."""

from __future__ import annotations

import json
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "runbooks"


def page() -> str:
    pages = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.md"))}
    return json.dumps(pages, ensure_ascii=False, indent=1) + "\n"
