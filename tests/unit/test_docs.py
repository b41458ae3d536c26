"""The documentation: generated pages equal the code, every example runs, every link leads somewhere."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest
import typer.main
import yaml

from trailhound.alert_settings import Channel as AlertChannel
from trailhound.alert_settings import Maintenance
from trailhound.alerts.channels import channel_types
from trailhound.cli import application
from trailhound.clock import ManualClock
from trailhound.collector.api.routes import Handlers
from trailhound.collector.prices.file import Entry, PriceFile
from trailhound.config import Config
from trailhound.evaluators.registry import evaluator_types
from trailhound.metrics import SPECS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    [*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "deploy" / "demo" / "trailhound.yaml"]
)
MARKDOWN = [p for p in PAGES if p.suffix == ".md"]
OFFLINE = ("trailhound check", "trailhound rules", "trailhound config schema")
"""Commands that need no daemon: the examples of them are run, the others only read by the command line's own parser."""
LANGUAGES = {"sh", "yaml", "yaml collector", "yaml prices", "python", "javascript", "json", "text", "promql", ""}


class Block(NamedTuple):
    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(*languages: str) -> list[Block]:
    """The fenced code blocks of all pages in one of these languages."""
    return [b for page in MARKDOWN if page.exists() for b in _blocks(page) if not languages or b.language in languages]


def _blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for match in re.finditer(r"^```([^\n]*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield Block(page, text.count("\n", 0, match.start()) + 1, match[1].strip(), match[2])


@cache
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_docs", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def generated() -> dict[Path, str]:
    pages: dict[Path, str] = generator().pages()
    return pages


def test_generated_pages_equal_the_code() -> None:
    stale = [p.name for p, text in generated().items() if not p.exists() or p.read_text(encoding="utf-8") != text]
    assert not stale, f"{stale} differ from the code: run `make docs`"


def test_no_page_of_a_rule_that_is_gone() -> None:
    assert {p.name for p in (DOCS / "rules").glob("*.md")} == {p.name for p in generated() if p.parent.name == "rules"}


def test_everything_has_words() -> None:
    """A setting, rule, metric, command or option without a description is undocumented, table or not."""
    silent = [f"metric {spec.name}" for spec in SPECS if len(spec.help) < 10]
    silent += [f"rule {rule}" for rule, cls in evaluator_types().items() if len(cls.__doc__ or "") < 80]
    silent += [f"setting {name}" for name, text in _settings() if not text]
    for name, command in _commands():
        silent += [] if command.help else [f"command {name}"]
        silent += [f"{name} {p.name}" for p in command.params if not getattr(p, "help", None)]
    assert not silent


def _settings() -> Iterator[tuple[str, str]]:
    generator()
    from pages.settings import settings  # type: ignore[import-not-found]

    models = [Config, AlertChannel, Maintenance]
    models += [
        *(cls.SettingsType for cls in evaluator_types().values()),
        *(cls.Options for cls in channel_types().values()),
    ]
    for setting in (s for model in models for s in settings(model)):
        yield setting.key, setting.meaning


def _commands() -> Iterator[tuple[str, Any]]:
    generator()
    from pages.cli import commands  # type: ignore[import-not-found]

    yield from commands()


@pytest.mark.parametrize("block", blocks(), ids=str)
def test_the_language_of_a_block_is_known(block: Block) -> None:
    assert block.language in LANGUAGES


@pytest.mark.parametrize("block", blocks("yaml"), ids=str)
def test_configuration_example(block: Block) -> None:
    _judge_configuration(block.text)


@pytest.mark.parametrize("block", blocks("yaml prices"), ids=str)
def test_price_file_example(block: Block) -> None:
    assert PriceFile.model_validate(yaml.safe_load(block.text)).prices


def test_every_key_of_the_price_file_is_documented() -> None:
    text = (DOCS / "prices.md").read_text(encoding="utf-8")
    assert [key for key in Entry.model_fields if f"| `{key}` |" not in text] == []


def test_demo_configuration() -> None:
    _judge_configuration((ROOT / "deploy" / "demo" / "trailhound.yaml").read_text(encoding="utf-8"))


def _judge_configuration(text: str) -> None:
    config = Config.model_validate(yaml.safe_load(text))
    types = evaluator_types()
    for rule, settings in config.rules.items():
        if rule not in types and config.evaluators.folder is not None:
            continue  # one of the reader's own
        types[rule].SettingsType.model_validate(settings)
    for channel in config.alerts.channels:
        channel_types()[channel.type].Options.model_validate(channel.options)


@pytest.mark.parametrize("block", blocks("python"), ids=str)
def test_python_example_compiles(block: Block) -> None:
    compile(block.text, str(block), "exec")


def command_lines(*names: str) -> list[tuple[str, str]]:
    """(where, line) of every command of ours in a shell block."""
    return [
        (f"{block} {line}", line)
        for block in blocks("sh")
        for line in block.text.splitlines()
        if line.startswith(names)
    ]


@pytest.mark.parametrize(
    "line", [pytest.param(line, id=where) for where, line in command_lines("trailhound ", "promote-trace ")]
)
def test_command_example_is_understood(line: str) -> None:
    """The command, its options and its arguments exist; nothing is executed."""
    words = shlex.split(line.split(" |")[0].split(" #")[0])
    words = ["trailhound", "promote", *words[1:]] if words[0] == "promote-trace" else words
    command: Any = typer.main.get_command(application())
    words.pop(0)
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    command.make_context(command.name, words, resilient_parsing=False)


@pytest.mark.parametrize("line", [pytest.param(line, id=where) for where, line in command_lines(*OFFLINE)])
def test_command_example_runs(line: str) -> None:
    command = [sys.executable, "-m", "trailhound", *shlex.split(line.split(" |")[0].split(" #")[0])[1:]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    assert done.stdout


@pytest.mark.parametrize("where", [pytest.param(line, id=where) for where, line in command_lines("make ")])
def test_make_target_exists(where: str) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert where.split()[1] in targets


@pytest.mark.parametrize("page", MARKDOWN, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = [t.split("#")[0] for t in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in t]
    assert not [t for t in targets if t and not (page.parent / t).exists()]


def test_every_framework_page_says_what_spans_cannot_tell() -> None:
    for page in (DOCS / "frameworks").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        assert "## Switch it on" in text, page.name
        assert "## What its spans cannot tell" in text, page.name
        assert f"frameworks/{page.name}" in (DOCS / "sending-traces.md").read_text(encoding="utf-8")


def test_every_api_path_and_filter_is_documented() -> None:
    nothing: Any = None  # the table is made without asking anything
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    routes = Handlers(nothing, ManualClock(), nothing).table()
    words = {word for route in routes for word in (route.path, *(route.filters or ()))}
    assert [word for word in sorted(words) if f"`{word}`" not in text] == []
