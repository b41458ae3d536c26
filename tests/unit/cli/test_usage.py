"""The command line as such: help everywhere, one line for each mistake, and the commands that need nothing."""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from trailhound import __version__
from trailhound.cli import application
from trailhound.evaluators.registry import evaluator_types


def command_lines(command: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    inner = getattr(command, "commands", {})
    return [path, *(line for name, each in inner.items() for line in command_lines(each, (*path, name)))]


ALL = command_lines(typer.main.get_command(application()))


def test_the_commands_of_the_contract_are_there() -> None:
    promised = {
        "serve",
        "check",
        "send",
        "trajectories",
        "findings",
        "sessions",
        "alerts",
        "rules",
        "config",
        "promote",
    }
    assert promised <= {line[0] for line in ALL if line}
    assert {("config", "check"), ("config", "schema"), ("trajectories", "list"), ("findings", "show")} <= set(ALL)


@pytest.mark.parametrize("line", ALL, ids=" ".join)
def test_help_everywhere(line: tuple[str, ...], trailhound: Any) -> None:
    for flag in ("--help", "-h"):
        result = trailhound(*line, flag)
        assert result.code == 0
        assert "Usage: trailhound" in result.out
        assert result.err == ""


def test_a_module_of_commands_is_named_as_its_command() -> None:
    """`trailhound check` loads one module: it is found by the command's name."""
    from trailhound import commands

    names = {module.name for module in pkgutil.iter_modules(commands.__path__)}
    assert names == {line[0] for line in ALL if line}
    for name in names:
        assert {line[0] for line in command_lines(typer.main.get_command(application(name))) if line} == {name}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["chek"], "Did you mean 'check'"),
        (["check", "--nope", "x"], "--nope"),
        (["findings", "list", "--limit", "0"], "--limit"),
        (["findings", "list", "--severity", "bad"], "'--severity': 'bad' is not one of 'info', 'warning', 'critical'"),
        (["trajectories", "show"], "ID"),
        (["rules", "nope"], "there are: "),
        (["config", "check", "/no/such.yaml"], "no such file"),
        (["serve", "--config", "/no/such.yaml"], "no such file"),
    ],
)
def test_mistakes_are_one_line_on_stderr(words: list[str], said: str, trailhound: Any) -> None:
    result = trailhound(*words)
    assert result.code in (1, 2)
    assert result.err.startswith("trailhound: ")
    assert result.err.count("\n") == 1
    assert said in result.err
    assert result.out == ""


def test_version(trailhound: Any) -> None:
    assert trailhound("--version").out == f"trailhound {__version__}\n"


def test_no_command_shows_the_help(trailhound: Any) -> None:
    result = trailhound()
    assert result.code == 2
    assert "Usage: trailhound" in result.out + result.err


def test_rules_tell_every_rule_and_setting(trailhound: Any) -> None:
    text = trailhound("rules").out
    for name, cls in evaluator_types().items():
        assert f"\n{name}" in f"\n{text}"
        for setting, field in cls.SettingsType.model_fields.items():
            assert f"rules.{name}.{field.alias or setting}" in text
    assert [rule["rule"] for rule in json.loads(trailhound("rules", "--format", "json").out)["rules"]] == list(
        evaluator_types()
    )
    assert "cycle" not in trailhound("rules", "unfinished").out.splitlines()


def test_config_check(trailhound: Any, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text("rules: {loop: {max_repeats: 3}}\n")
    bad.write_text("rules: {loop: {max_repeat: 3}}\n")
    assert trailhound("config", "check", good).out == f"{good}: ok\n"
    assert trailhound("config", "check", "--config", good).code == 0
    assert trailhound("config", "check").code == 0
    result = trailhound("config", "check", bad)
    assert result.code == 2
    assert "rules.loop" in result.err
    assert result.err.count("\n") == 1
    for wrong, said in (
        ("receive: {grpc: '0.0.0.0:4317'}", "receive.grpc: 0.0.0.0:4317 can be reached from other machines"),
        ("api: {listen: localhost}", "`api.listen`: 'localhost' is no address"),
        ("store: {dsn: 'postgres://x'}", "store.dsn: unknown scheme `postgres`"),
        ("suppress: [{rule: lop, reason: known, until: 2099-01-01}]", "`suppress.0.rule`: `lop` is no rule"),
    ):
        bad.write_text(wrong)
        assert said in trailhound("config", "check", bad).err
    (tmp_path / "prices.yaml").write_text("prices: [{model: m, input: 1, ouput: 2}]\n")
    good.write_text(f"prices: {{file: {tmp_path / 'prices.yaml'}}}\n")
    result = trailhound("config", "check", good)
    assert (result.code, "did you mean `output`?" in result.err) == (2, True)


def test_config_schema_covers_the_rules(trailhound: Any) -> None:
    schema = json.loads(trailhound("config", "schema").out)
    assert set(schema["properties"]["rules"]["properties"]) == set(evaluator_types())
    references = [word.split('"')[0] for word in json.dumps(schema).split("#/$defs/")[1:]]
    assert set(references) <= set(schema["$defs"])


@pytest.mark.parametrize("program", ["trailhound", "promote-trace"])
def test_the_installed_programs(program: str) -> None:
    script = Path(sys.executable).parent / program
    done = subprocess.run([script, "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert f"Usage: {program}" in done.stdout
    done = subprocess.run([script, "--nope"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("trailhound: ")


def test_text_outside_the_terminals_encoding_is_replaced() -> None:
    code = "from trailhound.cli import application, run; import typer; a = typer.Typer()\n@a.command()\ndef f() -> None: print('✓ naïve')\nrun(a, [], 'x')"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=False,
        env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    )
    assert done.stdout == b"? na?ve\n"
