"""Import every module of the installed wheel; arguments are the product's other files, which must be in it too."""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
import re
import sys
from pathlib import Path

import trailhound


def optional() -> set[str]:
    """Top-level names of what only an extra installs: `opentelemetry.sdk` for opentelemetry-sdk."""
    wanted = [r for r in importlib.metadata.requires("trailhound") or [] if "extra ==" in r]
    return {re.split(r"[<>=!;\[ ]", r)[0].lower().replace("-", "_") for r in wanted}


def imported(name: str) -> bool:
    """False when a module needs a package that an extra brings and that is not here; any other error is one."""
    try:
        importlib.import_module(name)
    except ImportError as error:  # of a namespace package, a part that is not there is no module that is not found
        wanted = (error.name or "").replace(".", "_")
        if any(package == wanted or package.startswith(wanted + "_") for package in optional()):
            return False
        raise
    return True


def main() -> int:
    home = Path(trailhound.__file__).parent
    if "site-packages" not in home.parts:
        print(f"not the installed wheel but {home}")
        return 1
    names = [
        m.name for m in pkgutil.walk_packages(trailhound.__path__, "trailhound.") if not m.name.endswith("__main__")
    ]
    waiting = [name for name in names if not imported(name)]
    parts = {name.split(".")[1] for name in names}
    missing = {"collector", "evaluators", "cli", "daemon"} - parts
    missing |= {name for name in sys.argv[1:] if not (home / name).exists()}
    foreign = [
        p.name
        for p in home.parent.iterdir()
        if p.name in {"collector", "evaluators", "alerts", "tests", "deploy", "docs"}
    ]
    print(
        f"{len(names) - len(waiting)} modules imported from the wheel, {len(waiting)} wait for an extra; missing: {sorted(missing) or 'nothing'}; foreign: {foreign or 'nothing'}"
    )
    return bool(missing or foreign)


if __name__ == "__main__":
    sys.exit(main())
