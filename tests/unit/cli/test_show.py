"""Text for people: short words for values, the finding beside its step, and nothing that a model wrote takes effect."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from trailhound.document import trajectory_document
from trailhound.model import ApprovalVerdict, Failure, Model, Usage
from trailhound.show.run import show_run
from trailhound.show.runs import show_runs
from trailhound.show.screen import Trimmed
from trailhound.show.steps import depths
from trailhound.show.text import amount, call, dollars, duration, message, moment, plain, words
from trailhound.testing_runs import make_call, make_finding, make_run, make_step

EVIL = "\x1b[31mred\x1b[0m\x1b]0;title\x07 [bold]x[/bold] :smile: \u202egnp\u202c \u200bhidden \r\n\x9b2J \ud800 \U000e0041"


def shown(run: Any, *, width: int = 160, color: bool = False, show: Any = show_run, **options: Any) -> str:
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=width,
        force_terminal=color,
        color_system="truecolor" if color else None,
        highlight=False,
        markup=False,
        emoji=False,
    )
    show(console, run, **options)
    return stream.getvalue()


def document(*args: Any, **fields: Any) -> dict[str, Any]:
    return trajectory_document(make_run(*args, **fields))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "-"),
        (0, "0 ms"),
        (0.0123, "12 ms"),
        (0.9999, "1.0 s"),
        (12.34, "12.3 s"),
        (99.96, "1m 40s"),
        (125, "2m 05s"),
        (3599.9, "1h 00m"),
        (7320, "2h 02m"),
    ],
)
def test_duration(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (None, "-"),
        (0, "0"),
        (999, "999"),
        (1000, "1.0k"),
        (12_345, "12.3k"),
        (999_949, "999.9k"),
        (999_950, "1.0M"),
        (1_234_567, "1.2M"),
    ],
)
def test_amount(number: int | None, text: str) -> None:
    assert amount(number) == text


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        (None, "-"),
        ("0", "$0.00"),
        ("1234.5", "$1,234.50"),
        ("0.0123", "$0.0123"),
        ("0.000058", "$0.000058"),
        ("0.00000000000000001", "$0.000000000000"),
    ],
)
def test_dollars(cost: str | None, text: str) -> None:
    assert dollars(cost) == text


def test_moment() -> None:
    assert moment("2026-11-30T12:00:01.123456789Z") == "11-30 12:00:01"
    assert moment(None) == "-"


@given(st.text(st.characters()), st.integers(2, 50))
def test_plain_text_is_one_short_printable_line(text: str, limit: int) -> None:
    safe = plain(text, limit)
    assert safe.isprintable()
    assert len(safe) <= limit


def test_call() -> None:
    assert call("f", {"a": 1, "b": "x\x1b"}) == 'f(a=1, b="x\\u001b")'
    assert call("f", None) == "f(?)"
    assert call("f", {}) == "f()"
    assert call("f", "text") == "f(text)"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("hello", "hello"),
        ([{"role": "user", "parts": [{"type": "text", "content": "hi"}]}], "hi"),
        (
            [{"role": "user", "content": "hi"}, {"role": "user", "content": [{"type": "text", "text": "there"}]}],
            "hi there",
        ),
        ({"messages": [{"content": "hi"}]}, "hi"),
        ({"order": 1}, '{"order":1}'),
        (12, "12"),
        (None, "-"),
    ],
)
def test_message(value: Any, text: str) -> None:
    assert message(value) == text


def test_words_of_anything() -> None:
    assert words({"a": [1, None]}) == '{"a":[1,null]}'
    assert words(None) == "-"
    assert len(words("x" * 10_000)) == 4000


def evil_run() -> dict[str, Any]:
    one = make_call(
        1,
        EVIL,
        {EVIL: EVIL},
        EVIL,
        agent=EVIL,
        status="error",
        error=Failure(EVIL, EVIL),
        approval=ApprovalVerdict("denied", EVIL),
    )
    two = make_step(2, "llm", name=EVIL, model=Model(EVIL, EVIL, EVIL))
    finding = make_finding(
        "loop",
        "critical",
        one,
        summary=EVIL,
        expected=EVIL,
        actual=EVIL,
        agent=EVIL,
        details={"metric": EVIL, EVIL: EVIL},
    )
    return document(
        [one, two],
        [finding],
        agent=EVIL,
        service=EVIL,
        session_id=EVIL,
        input=EVIL,
        output=EVIL,
        service_version=EVIL,
        environment=EVIL,
        agents=[EVIL, EVIL],
    )


@pytest.mark.parametrize("width", [20, 80, 160])
def test_what_a_model_wrote_takes_no_effect(width: int) -> None:
    for show, what in ((show_run, evil_run()), (show_runs, [evil_run()])):
        text = shown(what, width=width, show=show)
        assert all(c.isprintable() or c == "\n" for c in text)
        coloured = shown(what, width=width, show=show, color=True)
        for effect in ("\x1b[31mred", "\x1b]", "\x07", "\x9b", "\u202e", "\u200b", "\r", "😄"):
            assert effect not in coloured


def test_markup_is_text() -> None:
    assert "[bold]x[/bold] :smile:" in shown(evil_run())


def looping(number: int = 5) -> dict[str, Any]:
    calls = [make_call(n, "lookup_order", {"order_id": "SO-1"}, {"status": "lost"}) for n in range(1, number + 1)]
    return document(calls, [make_finding("loop", "warning", *calls)])


def test_the_finding_stands_beside_each_step_that_it_points_at() -> None:
    rows = [line for line in shown(looping()).splitlines() if "lookup_order(" in line]
    assert [row.partition("◀ ")[2] for row in rows] == [f"WARNING loop {n} of 5" for n in range(1, 6)]


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_it_stays_beside_the_step_in_every_window(width: int) -> None:
    text = shown(looping(), width=width)
    assert text.count("◀ WARNING loop") == 5
    assert all(len(line) <= width for line in text.splitlines())


def test_of_the_steps_of_one_span_the_meant_one_is_marked() -> None:
    model = make_step(1, "llm", model=Model("o", "m", "m"), usage=Usage(100, 10))
    calls = [make_call(n, f"tool_{n}", {}, span_id=model.span_id) for n in (2, 3)]
    findings = [
        make_finding("approval", "critical", calls[1], details={"tool": "tool_3"}),
        make_finding("budget", "critical", model, details={"metric": "turns", "limit": 1}, finding_id="b"),
    ]
    rows = {
        line.split()[0]: line for line in shown(document([model, *calls], findings)).splitlines() if line[:1].isdigit()
    }
    assert [n for n, row in rows.items() if "◀ CRITICAL approval" in row] == ["3"]
    assert [n for n, row in rows.items() if "◀ CRITICAL budget turns" in row] == ["1"]


def test_what_went_wrong_comes_first() -> None:
    text = shown(looping())
    assert text.index("loop happened") < text.index("input") < text.index("STEP")


def test_a_long_run_shows_its_ends_and_what_is_marked() -> None:
    steps = [make_call(n, f"tool_{n}", {}) for n in range(1, 200)]
    run = document(steps, [make_finding("approval", "critical", steps[99])])
    text = shown(run)
    assert "tool_100(" in text
    assert "tool_50(" not in text
    assert "more steps without a finding" in text
    assert "tool_50(" in shown(run, whole=True)


def test_a_budget_stands_beside_the_call_that_used_it_up() -> None:
    turns = [make_step(n, "llm", model=Model("o", "m", "m"), usage=Usage(100, 10, 50)) for n in range(1, 7)]
    findings = [
        make_finding("budget", "critical", *turns, details={"metric": metric, "limit": limit}, finding_id=metric)
        for metric, limit in (
            ("turns", 4),
            ("tokens", 220),
            ("fresh_tokens", 300),
            ("duration", 1.0),
            ("cost_usd", "odd"),
        )
    ]
    rows = [line for line in shown(document(turns, findings)).splitlines() if line.strip()[:1].isdigit()]
    beside = {
        metric: next(n for n, row in enumerate(rows) if f"budget {metric}" in row)
        for metric in ("turns", "tokens", "fresh_tokens", "duration", "cost_usd")
    }
    assert beside == {"turns": 4, "tokens": 2, "fresh_tokens": 5, "duration": 6, "cost_usd": 6}


def test_unknown_is_said_as_unknown() -> None:
    text = shown(document([make_step(1, "llm"), make_call(2, "f")], input=None, output=None))
    assert "f(?)" in text
    assert "cost unknown" in text
    assert "output      none recorded" in text


def test_the_list_says_what_went_wrong_under_each_run() -> None:
    text = shown([looping()], show=show_runs)
    assert "✓ completed" in text
    assert "  └ WARNING loop: loop happened" in text
    assert "1 run: 1 completed; 1 finding: 1 warning" in text


@pytest.mark.parametrize("width", [60, 80, 100, 120, 160])
def test_ids_are_never_cut(width: int) -> None:
    run = looping()
    assert run["trajectory_id"] in shown([run], show=show_runs, width=width) or width < 80


def test_no_runs() -> None:
    assert shown([], show=show_runs) == "0 runs; 0 findings\n"


def test_depths_survive_circles_and_missing_parents() -> None:
    steps = document(
        [
            make_call(1, "a", parent_span_id="ff"),
            make_call(2, "b", parent_span_id=f"{4:016x}"),
            make_call(3, "c", parent_span_id=f"{3:016x}"),
        ]
    )["steps"]
    assert len(depths(steps)) == 4


def test_spaces_at_the_end_of_lines_are_left_out() -> None:
    stream = io.StringIO()
    assert Trimmed(stream).write("a  \n b \n") == 8
    assert stream.getvalue() == "a\n b\n"
