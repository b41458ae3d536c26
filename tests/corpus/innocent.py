"""What only looks like a loop: polling, paging, fan-out, retries, legitimate repetition, similar and yet other requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.corpus.cases import Case, Maker, recipe
from tests.corpus.loops import TRANSIENT


@recipe
def polling_declared(m: Maker) -> Iterator[Case]:
    name, arguments = "get_job_status", {"job": m.rng.randint(1, 999)}
    for _ in range(m.rng.randint(4, 20)):
        m.call(name, arguments, {"status": "running"})
    yield Case("fine: declared polling", m.steps, tools=[{"match": "get_job_*", "poll": True}])


@recipe
def polling_recognised(m: Maker) -> Iterator[Case]:
    """States that go on, with waits between; two changes show that it is polled."""
    for _ in range(3):
        inner = Maker(m.rng, m.half)
        name, arguments = inner.tool, {"job": inner.rng.randint(1, 999)}
        for state, most in (("queued", 2), ("starting", 2), ("running", 5), ("uploading", 5), ("done", 1)):
            for _ in range(inner.rng.randint(1, most)):
                inner.call(name, arguments, {"status": state})
        yield Case("fine: polling with a changing result", inner.steps)


@recipe
def polling_progress(m: Maker) -> Iterator[Case]:
    name = m.tool
    for i in range(m.rng.randint(5, 12)):
        m.call(name, {"job": 1}, {"status": "running", "percent": 7 * i})
    yield Case("fine: polling with a rising figure", m.steps)


@recipe
def waiting(m: Maker) -> Iterator[Case]:
    name = m.tool
    for i in range(m.rng.randint(4, 9)):
        m.call(m.rng.choice(["sleep", "wait"]), {"seconds": 5}, "ok")
        m.call(name, {"job": 1}, {"percent": 9 * i})
    yield Case("fine: waiting between polls", m.steps)


@recipe
def paging(m: Maker) -> Iterator[Case]:
    for key in ("page", "offset", "cursor", "page_token", "after", "since"):
        inner = Maker(m.rng, m.half)
        name = inner.tool
        result: Any = inner.rng.choice([None, [], "see attachment"])
        fixed = {"query": inner.phrase, "limit": 50}
        for i in range(inner.rng.randint(3, 9)):
            at: Any = {"page": i, "offset": 50 * i, "cursor": inner.uuid(), "page_token": inner.uuid()}.get(key)
            inner.call(name, {**fixed, key: at if at is not None else inner.time()}, result)
        yield Case(f"fine: paging by {key}", inner.steps)


@recipe
def nested_paging(m: Maker) -> Iterator[Case]:
    name = m.tool
    for _ in range(m.rng.randint(3, 7)):
        m.call(name, {"query": {"q": "x", "pagination": {"next_cursor": m.uuid(), "size": 20}}}, None)
    yield Case("fine: paging by a nested cursor", m.steps)


@recipe
def fan_out(m: Maker) -> Iterator[Case]:
    name, arguments = m.tool, {"query": m.phrase}
    for turn in range(2):
        m.say()
        m.at += 5
        calls = [
            m.call(name, arguments if turn == 0 else {"sku": f"A-{i}"}, "none") for i in range(m.rng.randint(3, 8))
        ]
        for step in calls:
            step.start_ns, step.end_ns = calls[0].start_ns, calls[-1].end_ns
        m.steps = [s for s in m.steps if s.kind == "tool" or s.start_ns < calls[0].start_ns]
    yield Case("fine: parallel calls of one turn", m.steps)


@recipe
def retries(m: Maker) -> Iterator[Case]:
    for failures in (1, 2, 3, 4, 5):
        inner = Maker(m.rng, m.half)
        name, arguments = inner.tool, {"id": inner.rng.randint(1, 999)}
        inner.work(inner.around())
        for _ in range(failures):
            inner.fail(name, arguments, *inner.rng.choice(TRANSIENT))
        inner.call(name, arguments, {"total": 3})
        inner.work(inner.around())
        yield Case("fine: retries that then succeed", inner.steps, {"tool-error": "info"})


@recipe
def twice_is_fine(m: Maker) -> Iterator[Case]:
    for _ in range(3):
        inner = Maker(m.rng, m.half)
        name, arguments, result = inner.tool, {"query": inner.phrase}, inner.nothing
        inner.call(name, arguments, result)
        inner.work(inner.around())
        inner.call(name, arguments, result)
        inner.work(inner.around())
        yield Case("fine: twice the same", inner.steps)


@recipe
def read_after_write(m: Maker) -> Iterator[Case]:
    read, write = "read_file", "edit_file"
    for i in range(m.rng.randint(3, 7)):
        m.call(read, {"path": "notes.md"}, f"# notes\nversion {i}")
        m.call(write, {"path": "notes.md", "text": f"version {i + 1}"}, "ok")
    yield Case("fine: read again after each change", m.steps)


@recipe
def far_apart(m: Maker) -> Iterator[Case]:
    """Positions 0, 32, 64: never three among the agent's last 64 calls."""
    name = m.tool
    for gap in (31, 31, 31, 40):
        m.call(name, {"check": "stock"}, "fine")
        m.work(gap)
    yield Case("fine: the same once in a while", m.steps)


@recipe
def several_agents(m: Maker) -> Iterator[Case]:
    name, arguments = m.tool, {"query": m.phrase}
    for i in range(m.rng.randint(4, 8)):
        m.call(name, arguments, "no results", scope_id=f"agent{i // 2}")
    yield Case("fine: several agents ask the same", m.steps)


@recipe
def similar_and_other(m: Maker) -> Iterator[Case]:
    """Requests that differ in one word or figure, and are others all the same; the results were empty or not recorded."""
    lists = [
        ["refund rules for bikes", "refund rules for shoes", "refund rules for helmets", "refund rules for tyres"],
        ["trains from Rome to Paris", "trains from Paris to Rome", "trains from Rome to Milan", "trains from Oslo to Rome"],
        ["orders that are paid", "orders that are not paid", "orders that are late", "orders that are never late"],
        ["invoice 1041 total", "invoice 1042 total", "invoice 1043 total", "invoice 1044 total"],
        ["open ticket for Ann", "open ticket for Anton", "open ticket for Bea", "open ticket for Carl"],
        ["a.txt", "b.txt", "c.txt", "d.txt"],
        ["weather Berlin Monday", "weather Berlin Tuesday", "weather Berlin Sunday", "weather Berlin Friday"],
        ["SELECT name FROM users", "SELECT mail FROM users", "SELECT city FROM users", "SELECT name FROM shops"],
    ]  # fmt: skip
    for asked in lists:
        inner = Maker(m.rng, m.half)
        name = inner.tool
        result: Any = inner.rng.choice([None, "no results", []])
        for each in inner.rng.sample(asked, len(asked)):
            inner.call(name, {"query": each}, result)
        yield Case("fine: similar and yet other requests", inner.steps)


@recipe
def over_items(m: Maker) -> Iterator[Case]:
    for key in ("order_id", "path", "sku", "day", "line", "commit"):
        inner = Maker(m.rng, m.half)
        name = inner.tool
        for i in range(inner.rng.randint(4, 10)):
            value: Any = {"order_id": f"SO-{1000 + i}", "path": f"src/part_{i}.py", "sku": f"TUBE-{i:03}", "day": f"2026-11-{i + 10}", "line": 40 * i}.get(key)  # fmt: skip
            value = value if value is not None else f"{inner.rng.getrandbits(160):040x}"
            inner.call(name, {key: value, "verbose": True}, "ok")
        yield Case("fine: the same for one item after another", inner.steps)


@recipe
def people_by_uuid(m: Maker) -> Iterator[Case]:
    name = m.tool
    for i in range(m.rng.randint(4, 8)):
        m.call(name, {"customer": m.uuid()}, {"name": f"{m.phrase} {i}"})
    yield Case("fine: people by uuid, each with a result", m.steps)


@recipe
def unseen_arguments(m: Maker) -> Iterator[Case]:
    name = m.tool
    for _ in range(m.rng.randint(4, 9)):
        m.call(name, None, "no results")
    yield Case("fine: unseen arguments", m.steps)


@recipe
def writing(m: Maker) -> Iterator[Case]:
    """Long texts that differ in a word are other texts."""
    text = "Dear customer, " + " ".join(f"{m.phrase} number {n}," for n in range(12))
    for i in range(m.rng.randint(3, 6)):
        m.call("write_file", {"path": "mail.txt", "text": f"{text} draft{'abcdefg'[i]}"}, "ok")
    yield Case("fine: drafts of one text", m.steps)


@recipe
def refused(m: Maker) -> Iterator[Case]:
    name, arguments = m.tool, {"id": 1}
    for status in ("denied", "pending", "denied", "denied"):
        m.call(name, arguments, None, status=status)
    yield Case("fine: calls that did not run", m.steps)


@recipe
def classifying(m: Maker) -> Iterator[Case]:
    for i in range(m.rng.randint(5, 12)):
        m.say("no", question=f"is mail {i} spam?")
    yield Case("fine: the same answer to other questions", m.steps)


@recipe
def answers_with_calls(m: Maker) -> Iterator[Case]:
    for _ in range(m.rng.randint(4, 8)):
        m.say("Let me look.")
        m.work(1)
    yield Case("fine: the same words before calls that bring something", m.steps)


@recipe
def sampled(m: Maker) -> Iterator[Case]:
    for _ in range(5):
        step = m.say("the total is 12", lasts=30.0)
        step.start_ns, step.end_ns = m.steps[0].start_ns, m.steps[0].end_ns
    yield Case("fine: one question sampled five times at once", m.steps)


@recipe
def twice_in_each_run(m: Maker) -> Iterator[Case]:
    runs: list[str] = []
    for i in range(3):
        m.call(m.tool, {"id": i}, "none")
        m.call("lookup", {"id": 9}, {"version": i})
        runs += [f"run{i}"] * (len(m.steps) - len(runs))
    for step in m.steps:
        step.agent = "support"
    yield Case("fine: a session that asks other things", m.steps, scope="session", runs=runs)


@recipe
def screen(m: Maker) -> Iterator[Case]:
    for i in range(m.rng.randint(4, 8)):
        m.call("click", {"x": 10, "y": 20}, "ok")
        m.call("read_page", {"day": i}, f"page {i}")
    yield Case("fine: the same click on other pages", m.steps)


@recipe
def many_made(m: Maker) -> Iterator[Case]:
    for i in range(m.rng.randint(5, 9)):
        m.call("create_ticket", {"title": f"{m.phrase} {i}"}, {"id": f"T-{i}"})
    yield Case("fine: many things made, each another", m.steps)
