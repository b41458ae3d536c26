"""True loops: an agent that asks the same again and gets nothing new."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tests.corpus.cases import Case, Maker, recipe

Asked = Callable[[int], Any]
"""Number of the call -> its arguments (or its result)."""


def _loop(m: Maker, kind: str, asked: Asked, brought: Asked, **given: Any) -> Iterator[Case]:
    """A loop of that kind twice: for a warning, and for a critical finding."""
    for warning in (True, False):
        inner = Maker(m.rng, m.half)
        count, severity = m.count(warning)
        name = inner.tool
        inner.work(inner.around())
        for i in range(count):
            inner.call(name, asked(i), brought(i))
            if given.get("apart") and i < count - 1:
                inner.work(m.rng.randint(1, 5))
        inner.work(inner.around())
        tools = [{"match": name, **given["tool"]}] if "tool" in given else []
        yield Case(f"loop: {kind}", inner.steps, {"loop": severity}, tools=tools)


@recipe
def identical(m: Maker) -> Iterator[Case]:
    arguments, result = {"query": m.phrase, "limit": m.rng.randint(1, 50)}, m.nothing
    yield from _loop(m, "identical", lambda i: arguments, lambda i: result)


@recipe
def no_arguments(m: Maker) -> Iterator[Case]:
    result = m.nothing
    yield from _loop(m, "no arguments", lambda i: {}, lambda i: result)


@recipe
def key_order_and_space(m: Maker) -> Iterator[Case]:
    phrase, number = m.phrase, m.rng.randint(1, 9)

    def asked(i: int) -> Any:
        spaced = phrase.replace(" ", "  ") if i % 3 == 1 else phrase
        pairs = [("query", spaced), ("page", float(number) if i % 2 else number), ("filters", {"a": 1, "b": [2]})]
        return dict(pairs if i % 2 else reversed(pairs))

    yield from _loop(m, "key order, white space and form of numbers", asked, lambda i: "no results")


@recipe
def reworded(m: Maker) -> Iterator[Case]:
    words = m.phrase.split()

    def asked(i: int) -> Any:
        forms = [
            words,
            [w.capitalize() for w in words],
            [*words[:-1], words[-1] + "s"],
            ["the", *words],
            [*words, "please"],
        ]
        return {"query": " ".join(forms[i % len(forms)]) + ("?" if i % 2 else "")}

    yield from _loop(m, "reworded query", asked, lambda i: "no results")


@recipe
def misspelt(m: Maker) -> Iterator[Case]:
    words = m.phrase.split()
    longest = max(range(len(words)), key=lambda n: len(words[n]))

    def asked(i: int) -> Any:
        word = words[longest]
        forms = [word, word[:2] + word[3:], word[:1] + word[2] + word[1] + word[3:], word + "e"]
        return {"query": " ".join([*words[:longest], forms[i % 4], *words[longest + 1 :]])}

    yield from _loop(m, "misspelt query", asked, lambda i: {"hits": 0})


@recipe
def request_ids(m: Maker) -> Iterator[Case]:
    phrase, key = (
        m.phrase,
        m.rng.choice(["request_id", "requestId", "correlation_id", "nonce", "idempotency_key", "attempt"]),
    )
    yield from _loop(
        m, "one varying id of the request", lambda i: {"query": phrase, key: i if key == "attempt" else f"r{m.rng.getrandbits(40):x}"}, lambda i: "no results"
    )  # fmt: skip


@recipe
def uuids(m: Maker) -> Iterator[Case]:
    phrase = m.phrase
    yield from _loop(m, "uuids", lambda i: {"query": phrase, "ref": m.uuid()}, lambda i: "no results")


@recipe
def times(m: Maker) -> Iterator[Case]:
    phrase, epoch = m.phrase, 1_790_000_000 + m.rng.randint(0, 10**6)

    def asked(i: int) -> Any:
        return {"query": phrase, "now": m.time()} if epoch % 2 else {"query": phrase, "timestamp": epoch + 13 * i}

    yield from _loop(m, "times", asked, lambda i: {"hits": 0, "served_at": epoch + 13 * i})


@recipe
def declared_volatile(m: Maker) -> Iterator[Case]:
    phrase = m.phrase
    yield from _loop(
        m,
        "declared volatile fields",
        lambda i: {"query": phrase, "salt": f"s{i}{m.rng.randint(0, 999)}"},
        lambda i: {"hits": 0, "node": f"n{i}"},
        tool={"volatile": ["salt", "node"]},
    )


@recipe
def results_with_ids(m: Maker) -> Iterator[Case]:
    phrase = m.phrase

    def brought(i: int) -> Any:
        return m.rng.choice([f"nothing found (request {m.uuid()})", f"nothing found (request {m.uuid()})"])

    yield from _loop(m, "results that differ in ids", lambda i: {"query": phrase}, brought)


@recipe
def unseen_results(m: Maker) -> Iterator[Case]:
    phrase = m.phrase
    yield from _loop(m, "unseen results", lambda i: {"query": phrase}, lambda i: None)


@recipe
def work_between(m: Maker) -> Iterator[Case]:
    phrase, result = m.phrase, m.nothing
    yield from _loop(m, "useful work between", lambda i: {"query": phrase}, lambda i: result, apart=True)


@recipe
def nested(m: Maker) -> Iterator[Case]:
    filters = {"where": [{"field": "sku", "in": [m.rng.randint(1, 99) for _ in range(5)]}], "sort": {"by": "date"}}
    yield from _loop(m, "nested arguments", lambda i: {"filters": filters}, lambda i: {"rows": []})


@recipe
def after_progress(m: Maker) -> Iterator[Case]:
    phrase = m.phrase
    yield from _loop(m, "after one change", lambda i: {"query": phrase}, lambda i: "no results")
    for case in _loop(m, "after one change", lambda i: {"query": phrase}, lambda i: "no results"):
        first = next(s for s in case.steps if s.tool is not None and s.tool.arguments == {"query": phrase})
        assert first.tool is not None
        before = m.call(first.tool.name, {"query": phrase}, "1 draft")
        before.start_ns, before.end_ns = first.start_ns - 400_000_000, first.start_ns - 300_000_000
        case.steps.append(before)
        case.steps.sort(key=lambda s: s.order)
        yield case


@recipe
def errors_between(m: Maker) -> Iterator[Case]:
    """A failure in between is no progress: what was brought before and after it is the same."""
    name, arguments = m.tool, {"query": m.phrase}
    for i in range(4):
        m.call(name, arguments, "no results")
        if i == 1:
            m.fail(name, arguments, "TimeoutError", "timed out")
    yield Case("loop: a failure between", m.steps, {"loop": "warning", "tool-error": "info"})


@recipe
def failing(m: Maker) -> Iterator[Case]:
    for warning in (True, False):
        inner = Maker(m.rng, m.half)
        count, severity = m.count(warning)
        name, arguments = inner.tool, {"path": f"{inner.phrase}.txt"}
        for i in range(count):
            inner.fail(name, arguments, "ValueError", f"no such file (try {i})")
        yield Case("loop: failing for good", inner.steps, {"loop": severity, "tool-error": "warning"})


@recipe
def never_recovered(m: Maker) -> Iterator[Case]:
    for warning in (True, False):
        inner = Maker(m.rng, m.half)
        count, severity = m.count(warning)
        name, arguments = inner.tool, {"id": inner.rng.randint(1, 999)}
        for _ in range(count):
            inner.fail(name, arguments, *inner.rng.choice(TRANSIENT))
        yield Case("loop: retries that never succeed", inner.steps, {"loop": severity, "tool-error": "warning"})


TRANSIENT = (
    ("TimeoutError", "request timed out"),
    ("HTTPError", "503 Service Unavailable"),
    ("RateLimitError", "429 Too Many Requests"),
    ("ConnectionError", "connection reset by peer"),
)


@recipe
def answers(m: Maker) -> Iterator[Case]:
    for warning in (True, False):
        inner = Maker(m.rng, m.half)
        count, severity = m.count(warning)
        said = f"I will look into the {inner.phrase} now."
        inner.work(inner.around())
        for _ in range(count):
            inner.say(said)
        yield Case("loop: identical answers", inner.steps, {"loop": severity})


@recipe
def over_a_session(m: Maker) -> Iterator[Case]:
    for warning in (True, False):
        inner = Maker(m.rng, m.half)
        count, severity = m.count(warning)
        name, arguments = inner.tool, {"query": inner.phrase}
        runs: list[str] = []
        for i in range(count):
            inner.work(inner.rng.randint(0, 2))
            inner.call(name, arguments, "no results")
            runs += [f"run{i}"] * (len(inner.steps) - len(runs))
        for step in inner.steps:
            step.agent = "support"
        yield Case("loop: over the runs of a session", inner.steps, {"loop": severity}, scope="session", runs=runs)


@recipe
def turned(m: Maker) -> Iterator[Case]:
    words = m.phrase.split()
    yield from _loop(m, "phrase begun elsewhere", lambda i: {"query": " ".join(words[i % 2 :] + words[: i % 2])}, lambda i: "no results")  # fmt: skip


@recipe
def cache_buster(m: Maker) -> Iterator[Case]:
    yield from _loop(m, "cache buster in an address", lambda i: {"url": f"https://shop.test/p?id=7&_={4000 + 31 * i}"}, lambda i: "404")  # fmt: skip


@recipe
def made_again(m: Maker) -> Iterator[Case]:
    for warning in (True, False):
        inner = Maker(m.rng, m.half)
        count, severity = m.count(warning)
        inner.work(inner.around())
        name = m.rng.choice(["create_ticket", "submit_claim"] if m.half else ["send_invoice", "notify_team"])
        asked = {"title": m.phrase, "to": "ops"}
        for i in range(count):
            inner.call(name, asked, {"id": f"T-{i}", "ok": True})
        yield Case("loop: the same thing made again and numbered anew", inner.steps, {"loop": severity})
