"""Imports point one way: core <- evaluators <- collector, alerts <- daemon, cli."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RANK = {"core": 0, "evaluators": 1, "collector": 2, "alerts": 2, "wiring": 3}
CORE = {
    "address",
    "alert_settings",
    "approving",
    "canonical",
    "checked",
    "clock",
    "config",
    "conditions",
    "demands",
    "document",
    "errors",
    "expressions",
    "failpoint",
    "garbage",
    "judgement",
    "logs",
    "makeup",
    "metrics",
    "model",
    "notation",
    "review_settings",
    "runbooks",
    "secret",
    "section",
    "series",
    "sqlite_file",
    "undocument",
}
"""Modules of trailhound/ that every part may import; its other modules put the parts together."""


def part_of(module: str) -> str:
    """The part that a module belongs to: `trailhound.collector.store.rows` is `collector`."""
    names = module.split(".")
    if len(names) > 1 and names[1] in RANK:
        return names[1]
    is_module = len(names) > 1 and any(
        (ROOT / "trailhound" / (names[1] + end)).exists() for end in (".py", "/__init__.py")
    )
    return "wiring" if is_module and names[1] not in CORE else "core"


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    if parts[0] != "trailhound":
        parts = ("trailhound", *parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def product_files() -> list[Path]:
    """Each product file once: rglob does not follow the links inside trailhound/."""
    return sorted(
        p for folder in ("trailhound", "collector", "evaluators", "alerts") for p in (ROOT / folder).rglob("*.py")
    )


def imported(path: Path) -> list[str]:
    """Every trailhound module that a file imports, wherever in the file, except for type checking only."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {id(n) for block in ast.walk(tree) if _only_for_types(block) for n in ast.walk(block)}
    names: list[str] = []
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level:
            names.append("relative import")
    return [n for n in names if n.split(".")[0] == "trailhound" or n == "relative import"]


def _only_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def against_the_stream(importer: str, target: str) -> bool:
    here, there = part_of(importer), part_of(target)
    return RANK[there] > RANK[here] or (RANK[there] == RANK[here] and here != there)


@pytest.mark.parametrize("path", product_files(), ids=module_name)
def test_import_direction(path: Path) -> None:
    importer = module_name(path)
    targets = imported(path)
    assert "relative import" not in targets, f"{importer} imports relatively; write the whole name"
    wrong = [t for t in targets if against_the_stream(importer, t)]
    assert not wrong, f"{importer} ({part_of(importer)}) imports {wrong}"


@pytest.mark.parametrize(
    ("importer", "target", "wrong"),
    [
        ("trailhound.model", "trailhound.evaluators.base", True),
        ("trailhound.evaluators.loop", "trailhound.model", False),
        ("trailhound.evaluators.loop", "trailhound.collector.watch", True),
        ("trailhound.collector.watch", "trailhound.evaluators.judge", False),
        ("trailhound.collector.watch", "trailhound.alerts.route", True),
        ("trailhound.alerts.route", "trailhound.collector.store", True),
        ("trailhound.collector.api.app", "trailhound.daemon", True),
        ("trailhound.daemon", "trailhound.collector.watch", False),
    ],
)
def test_the_rule_itself(importer: str, target: str, wrong: bool) -> None:
    assert against_the_stream(importer, target) is wrong


def test_nothing_is_imported_by_its_folder_name() -> None:
    """`import collector` works in a checkout and nowhere else."""
    for path in product_files():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {n.split(".")[0] for n in names} & {"collector", "evaluators", "alerts"}, path
