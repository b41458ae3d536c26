"""`make demo`: starts Trailhound, sends recorded agent runs over the wire, shows what it makes of them."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time  # the demo is a bystander: it waits for the daemon as a person would
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
CONFIG = Path(__file__).with_name("trailhound.yaml")
CAPTURES = ROOT / "tests" / "captures"
BIN = Path(sys.executable).parent
PORTS = {"grpc": 4317, "http": 4318, "api": 4320}
SETTINGS = {"grpc": "TRAILHOUND_RECEIVE__GRPC", "http": "TRAILHOUND_RECEIVE__HTTP", "api": "TRAILHOUND_API__LISTEN"}
PATIENCE_S = 120.0


class Recording(NamedTuple):
    protocol: str
    path: str
    story: str


RECORDINGS = (
    Recording("http", "pydantic_ai_v2/ok", "pydantic-ai answers a customer; nothing is wrong"),
    Recording("grpc", "pydantic_ai_v5/loop", "pydantic-ai looks the same order up five times"),
    Recording("http", "openai_agents_traceloop/pingpong", "an OpenAI agent goes to and fro between two tools"),
    Recording("grpc", "agent_framework_native/no_approval", "a Microsoft agent pays a refund that nobody approved"),
    Recording("http", "agent_framework_native/approval_granted", "another waits for a person, and pays when told to"),
    Recording("grpc", "openai_agents_traceloop/budget", "an OpenAI agent takes 12 turns and 482,000 tokens"),
    Recording("http", "openai_v2_experimental/loop", "a bare OpenAI client loops, without a single tool span"),
    Recording("grpc", "langgraph_openinference/crash", "a LangGraph agent is killed while it deletes records"),
)
EXPECTED = {"loop", "cycle", "approval", "budget", "unfinished"}
"""Rules that must have spoken at the end, else the demo has failed."""


class Daemon(NamedTuple):
    grpc: str
    http: str
    api: str

    @property
    def api_url(self) -> str:
        return f"http://{self.api}"

    def endpoint(self, protocol: str) -> str:
        return f"{protocol}://{self.grpc if protocol == 'grpc' else self.http}"

    def ask(self, path: str) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self.api_url}{path}", timeout=10) as answer:
            found: dict[str, Any] = json.load(answer)
            return found


def say(text: str = "") -> None:
    print(text, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--once", action="store_true", help="end after the list instead of staying up until Ctrl-C")
    parser.add_argument("--folder", type=Path, default=Path("demo-data"), help="emptied, then filled")
    options = parser.parse_args()
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder.mkdir()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    say(f"[1/5] starting `trailhound serve` on a fresh folder, {options.folder}/")
    try:
        with daemon(options.folder) as running:
            findings = play(running, options.folder / "cases")
            missing = EXPECTED - {finding["rule"] for finding in findings}
            if missing:
                say(
                    f"\nFailed: no finding of {', '.join(sorted(missing))}; the daemon's log is {options.folder}/serve.log"
                )
                return 1
            if not options.once:
                stay(running)
    except KeyboardInterrupt:
        say("\nstopped")
    return 0


def play(running: Daemon, cases: Path) -> list[dict[str, Any]]:
    """Sends, waits and shows; the findings."""
    say(f"      accepts OTLP/gRPC on {running.grpc}, OTLP/HTTP on {running.http}; API on {running.api}")
    say(
        f"\n[2/5] sending {len(RECORDINGS)} recorded runs of a bicycle shop's support agents, as their frameworks sent them"
    )
    for recording in RECORDINGS:
        say(f"      {recording.protocol}  {recording.story}")
        trailhound("send", CAPTURES / recording.path, "--endpoint", running.endpoint(recording.protocol), quiet=True)
    say("\n[3/5] waiting until all runs are over (one was killed: it counts as unfinished after 5 s without a span)")
    findings = judged(running)
    say("\n[4/5] what Trailhound makes of them")
    show("trajectories", "list", "--api", running.api_url)
    show("findings", "list", "--api", running.api_url)
    worst = next(f["trajectory_id"] for f in findings if f["rule"] == "loop" and f["trajectory_id"])
    show("trajectories", "show", worst, "--api", running.api_url)
    say("\n[5/5] the looping run becomes a test case")
    show("promote", worst, "--into", str(cases), "--api", running.api_url)
    return findings


def judged(running: Daemon) -> list[dict[str, Any]]:
    """Waits until nothing is open or on its way, with a line whenever something changes; the findings then."""
    deadline, last = time.monotonic() + PATIENCE_S, ""  # noqa: TID251
    while time.monotonic() < deadline:  # noqa: TID251
        runs = running.ask("/api/v1/trajectories?limit=100")["items"]
        findings: list[dict[str, Any]] = running.ask("/api/v1/findings?limit=100")["items"]
        stats = running.ask("/api/v1/stats")
        still_open = sum(run["status"] == "open" for run in runs)
        line = f"      {stats['spans']} spans stored, {len(runs)} runs, {still_open} open, {len(findings)} findings"
        if line != last:
            say(line)
            last = line
        if len(runs) >= len(RECORDINGS) and not still_open and not stats["pending_blocks"]:
            return findings
        time.sleep(0.5)
    raise SystemExit(f"the runs were not judged within {PATIENCE_S:.0f} s; see serve.log")


def stay(running: Daemon) -> None:
    say(f"\nStill up. Runs and findings: {running.api_url}/api/v1/findings   metrics: {running.api_url}/metrics")
    say(f"Send it your own agent's traces: OTLP/HTTP http://{running.http}, OTLP/gRPC {running.grpc}")
    say("Ctrl-C ends it.")
    while True:
        time.sleep(3600)


def trailhound(*words: str | Path, quiet: bool = False) -> None:
    """Runs the command line; a failure ends the demo with what it said."""
    command = [str(BIN / "trailhound"), *map(str, words)]
    done = subprocess.run(command, text=True, capture_output=quiet, check=False)
    if done.returncode not in (0, 1) or (quiet and done.returncode):
        raise SystemExit(f"{' '.join(command)} exited with {done.returncode}\n{done.stdout or ''}{done.stderr or ''}")


def show(*words: str) -> None:
    say(f"\n$ trailhound {' '.join(words)}")
    trailhound(*words)


@contextmanager
def daemon(folder: Path) -> Iterator[Daemon]:
    """A running daemon on the default ports, or on free ones when any of those is taken."""
    command = [str(BIN / "trailhound"), "serve", "--config", str(CONFIG), "--data", str(folder / "data")]
    with (folder / "serve.log").open("w") as log:
        process = subprocess.Popen(
            command, env=environment(), stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
        )
        try:
            yield ready(process, folder / "serve.log")
        finally:
            process.terminate()
            process.wait(timeout=30)


def ready(process: subprocess.Popen[str], log: Path) -> Daemon:
    """The addresses on the daemon's first line; it prints it, or ends."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line.startswith("ready "):
        raise SystemExit(f"the daemon did not start:\n{log.read_text()}")
    return Daemon(**dict(word.split("=", 1) for word in line.split()[1:]))


def environment() -> dict[str, str]:
    free = all(is_free(port) for port in PORTS.values())
    if not free:
        say("      (a default port is taken, so free ones are used)")
    addresses = {SETTINGS[name]: f"127.0.0.1:{port if free else 0}" for name, port in PORTS.items()}
    return os.environ | addresses


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


if __name__ == "__main__":
    if not sys.stdout.isatty():
        os.environ.setdefault("COLUMNS", "120")
    sys.exit(main())
