"""The house limits of CONTRIBUTING.md: small files, small functions, a first sentence, nothing of one machine."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILE_LINES = 300
TEST_FILE_LINES = 500
FUNCTION_LINES = 40
TEST_FUNCTION_LINES = 60
FOLDERS = ("trailhound", "collector", "evaluators", "alerts", "tests", "docs", "deploy")
MACHINE_PATH = re.compile(r"/(?:w[o]rk|f[a]rm|r[o]ot|home/[a-z]+)/|\.\./shared")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def tracked() -> list[Path]:
    """Files under version control, or every source file where there is no git (an unpacked archive)."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if done.returncode == 0:
        paths = [ROOT / name for name in done.stdout.decode().split("\0") if name]
    else:
        paths = [p for folder in FOLDERS for p in (ROOT / folder).rglob("*")]
    return sorted(p for p in paths if p.is_file() and not p.is_symlink())


def python_files() -> list[Path]:
    return [p for p in tracked() if p.suffix == ".py"]


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def is_test(path: Path) -> bool:
    return path.is_relative_to(ROOT / "tests")


def functions(tree: ast.Module) -> Iterator[Function]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def body_lines(function: Function) -> int:
    """Lines of a function's statements: its signature and docstring are documentation, which is never too long."""
    first = function.body[0]
    documented = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    statements = function.body[1:] if documented else function.body
    return (function.end_lineno or 0) - statements[0].lineno + 1 if statements else 0


@pytest.mark.parametrize("path", python_files(), ids=relative)
def test_file(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    limit = TEST_FILE_LINES if is_test(path) else FILE_LINES
    assert text.count("\n") <= limit, f"{text.count(chr(10))} lines, the limit is {limit}: which idea splits it?"
    tree = ast.parse(text)
    limit = TEST_FUNCTION_LINES if is_test(path) else FUNCTION_LINES
    long = {f.name: body_lines(f) for f in functions(tree) if body_lines(f) > limit}
    assert not long, f"functions over {limit} lines: {long}"
    doc = ast.get_docstring(tree)
    assert doc or not text.strip(), "the first line says in one sentence what the module is for"
    assert path.stem not in {"utils", "util", "helpers", "common", "misc"}, "name it after what it does"


def test_no_machine_paths() -> None:
    """What works only on the machine it was written on does not belong here."""
    found = []
    for path in tracked():
        if path.suffix in {".pb", ".gz", ".seg", ".lock"}:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if MACHINE_PATH.search(line) and "MACHINE_PATH" not in line:
                found.append(f"{relative(path)}:{number}: {line.strip()[:100]}")
    assert not found, "\n".join(found)


def test_locks_are_hashed_and_name_no_index() -> None:
    for name in ("requirements.lock", "requirements-dev.lock"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert "://" not in text, f"{name} names a host"
        pins = re.split(r"\n(?=[a-z0-9])", text)
        bare = [pin.split("\n")[0] for pin in pins if re.match(r"[a-z0-9]", pin) and "--hash=sha256:" not in pin]
        assert not bare, f"{name}: no hash for {bare}"


def test_both_locks_agree() -> None:
    def pins(name: str) -> set[str]:
        return set(re.findall(r"^[a-z0-9][^ ]*==[^ ]+", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE))

    missing = pins("requirements.lock") - pins("requirements-dev.lock")
    assert not missing, f"in requirements.lock only: {missing}; run make lock"
