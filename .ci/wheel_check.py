"""Import every module of the installed wheel; arguments are the product's other files, which must be in it too."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path

import trailhound


def main() -> int:
    home = Path(trailhound.__file__).parent
    if "site-packages" not in home.parts:
        print(f"not the installed wheel but {home}")
        return 1
    names = [
        m.name for m in pkgutil.walk_packages(trailhound.__path__, "trailhound.") if not m.name.endswith("__main__")
    ]
    for name in names:
        importlib.import_module(name)
    parts = {name.split(".")[1] for name in names}
    missing = {"collector", "evaluators", "cli", "daemon"} - parts
    missing |= {name for name in sys.argv[1:] if not (home / name).exists()}
    foreign = [
        p.name
        for p in home.parent.iterdir()
        if p.name in {"collector", "evaluators", "alerts", "tests", "deploy", "docs"}
    ]
    print(
        f"{len(names)} modules imported from the wheel; missing: {sorted(missing) or 'nothing'}; foreign: {foreign or 'nothing'}"
    )
    return bool(missing or foreign)


if __name__ == "__main__":
    sys.exit(main())
