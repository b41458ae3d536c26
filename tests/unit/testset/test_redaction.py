"""Redaction: a canary of 40 fake secrets leaves none, equal values stay equal, and ordinary text stays as it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trailhound.document import trajectory_document
from trailhound.evaluators.testset.folder import CaseFolder
from trailhound.evaluators.testset.promote import build_case, put_case
from trailhound.evaluators.testset.redaction import Redactor
from trailhound.evaluators.testset.redaction_key import kept_key, key_path
from trailhound.testing_runs import make_call, make_run

U = "_"
"""Written apart, so that no scanner of repositories takes a fake secret for one."""
A36 = "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zA2"
CANARY = [
    f"ghp{U}{A36}",
    f"gho{U}{A36}",
    f"github{U}pat{U}11{A36}",
    "glpat-aB3dE5fG7hJ9kL1mN2pQ",
    "xoxb-1234567890-abcdefABCDEF",
    "https://hooks.slack.com/services/T0AAAA/B0BBBB/cccccccccccc",
    f"npm{U}{A36}",
    "pypi-AgEIcHlwaS5vcmcCJDU0" + A36,
    f"hf{U}{A36}",
    f"sk{U}live{U}4eC39HqLyjWDarjtT1zdp7dc",
    f"rk{U}test{U}4eC39HqLyjWDarjtT1zdp7dc",
    f"whsec{U}4eC39HqLyjWDarjtT1zdp7dc",
    "sk-proj-aB3dE5fG7hJ9kL1mN2pQ4rS6",
    "sk-ant-api03-aB3dE5fG7hJ9kL1mN2pQ4rS6",
    "AKIAIOSFODNN7EXAMPLE",
    "ASIAIOSFODNN7EXAMPLE",
    "AIza" + A36[:35],
    "SG.aB3dE5fG7hJ9kL1mN2pQ4r.aB3dE5fG7hJ9kL1mN2pQ4r",
    "123456789:AA" + A36,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq",
    "Bearer aB3dE5fG7hJ9kL1mN2pQ",
    "Basic dXNlcjpodW50ZXIyaHVudGVy",
    "postgres://shop:hunter2secret@db.example/orders",
    "redis://:hunter2secret@cache.example:6379",
    "password=hunter2secret",
    "DB_PASSWORD: hunter2secret",
    '"client_secret": "hunter2secret"',
    "api-key = hunter2secret",
    "my password is hunter2secret",
    "ana.lopez+shop@mail.example",
    "DE89 3704 0044 0532 0130 00",
    "4111 1111 1111 1111",
    "5555-5555-5555-4444",
    "378282246310005",
    "078-05-1120",
    "+49 (30) 901820-12",
    "13812345678",
    "11010519491231002X",
]


def secret_part(canary: str) -> str:
    """What must be nowhere afterwards: the telling part of the fake secret."""
    return "hunter2secret" if "hunter2secret" in canary else canary


def test_there_are_forty() -> None:
    assert len(set(CANARY)) == 40


@pytest.mark.parametrize("canary", CANARY)
@pytest.mark.parametrize("frame", ["{}", "please use {} today", '{{"note": "{}"}}', "a\n{}\nb", "({}), ok"])
def test_a_canary_is_taken_out(canary: str, frame: str) -> None:
    text = Redactor().text(frame.format(canary))
    assert secret_part(canary) not in text
    assert "[REDACTED:" in text


def test_no_canary_reaches_a_case_file(tmp_path: Path) -> None:
    arguments: dict[str, Any] = {f"f{n}": canary for n, canary in enumerate(CANARY)}
    arguments["nested"] = [{"deep": list(CANARY)}, json.dumps({"as text": CANARY})]
    arguments["password"], arguments["card"], arguments["Api-Key"] = "swordfish", 4111111111111111, "swordfish"
    steps = [make_call(n, "pay", arguments, {"echo": CANARY}) for n in range(1, 6)]
    run = make_run(steps, input=" ".join(CANARY), output=CANARY, status="failed", user_id=CANARY[31])
    with CaseFolder(tmp_path) as folder:
        case = build_case(trajectory_document(run), redactor=Redactor(kept_key(tmp_path / "key")))
        put_case(folder, case)
    text = next(tmp_path.glob("*.yaml")).read_text()
    left = [canary for canary in CANARY if secret_part(canary) in text or json.dumps(canary)[1:-1] in text]
    assert left == []
    assert "swordfish" not in text
    assert "4111111111111111" not in text
    assert sum(case.redacted.values()) >= 40


def test_equal_values_stay_equal_and_another_key_gives_other_tokens() -> None:
    one, other = Redactor(b"one"), Redactor(b"other")
    assert one.text("ana@mail.example") == one.text("ana@mail.example")
    assert one.text("ana@mail.example") != one.text("bob@mail.example")
    assert one.text("ana@mail.example") != other.text("ana@mail.example")


ORDINARY = [
    "Where is my order SO-48213? I want to return it.",
    "The meeting is on 2026-11-30T12:00:00.000000001Z, room 12.",
    "trace 0af7651916cd43dd8448eb211c80319c and span b7ad6b7169203331",
    "It costs 1,234,567.89 dollars; version 1.2.3 of the API; 10:30-11:45.",
    "max_tokens: 4096, total_tokens=1234, tokens per second 17",
    "请问我的订单在哪里？谢谢。",
    "uuid 123e4567-e89b-12d3-a456-426614174000",
    "a skill, a task-list and the basic idea of a token economy",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays(text: str) -> None:
    assert Redactor().text(text) == text


def test_shapes_and_types_stay() -> None:
    value = {"n": 1, "f": 1.5, "b": True, "none": None, "list": [1, "x", {"k": []}], "max_tokens": 20, "id": "SO-1"}
    assert Redactor().value(value) == value


def test_a_key_is_made_once_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "trailhound" / "redaction.key"
    assert kept_key(path) == kept_key(path)
    assert path.stat().st_mode & 0o077 == 0
    path.write_text("short")
    with pytest.raises(OSError, match="too short"):
        kept_key(path)


def test_the_key_lies_where_the_user_keeps_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/settings")
    assert key_path() == Path("/settings/trailhound/redaction.key")
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    monkeypatch.setenv("HOME", "/elsewhere")
    assert key_path() == Path("/elsewhere/.config/trailhound/redaction.key")


def test_a_text_that_is_too_long_to_search_is_taken_out_whole() -> None:
    assert Redactor().text("x" * (2**20 + 1)).startswith("[REDACTED:long_text:")
