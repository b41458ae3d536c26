"""Writes the generated pages of docs/ out of the code: configuration, rules, metrics, commands; and the runbooks that are served."""

from __future__ import annotations

import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))  # so that the pages are found from wherever this is started

from pages import channels, cli, configuration, detection, metrics, rules, runbooks


def pages() -> dict[Path, str]:
    """Every generated page: its path and what it must hold."""
    found = {
        DOCS / "configuration.md": configuration.page(),
        DOCS / "channels.md": channels.page(),
        DOCS / "metrics.md": metrics.page(),
        DOCS / "cli.md": cli.page(),
        DOCS / "evaluators" / "detection.md": detection.page(),
        DOCS.parent / "trailhound" / "runbooks.json": runbooks.page(),
    }
    found |= {DOCS / "rules" / name: text for name, text in rules.pages().items()}
    return found


def main() -> None:
    for path, text in pages().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(DOCS.parent)}")


if __name__ == "__main__":
    main()
