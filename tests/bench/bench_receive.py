"""What the receiver costs: CPU time a span of a real receiver process with a real journal, over HTTP and gRPC.

Run `python tests/bench/bench_receive.py [requests]`. Bodies are 512 spans of about 1.9 kB each; the sender shares the
machine, so spans/s is a lower bound, while CPU time is the receiver's alone (user and system, all its threads).
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import socket
import sys
import tempfile
import threading
import zlib
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from trailhound.clock import SystemClock
from trailhound.config import Config
from trailhound.supervise import Supervised
from trailhound.testing import any_value

SPANS = 512
SPAN_BYTES = 1900
SENDERS = 4
METHOD = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
TICK_S = 1 / os.sysconf("SC_CLK_TCK")

Send = Callable[[list[bytes]], None]


def request_body(seed: int, spans: int = SPANS) -> bytes:
    """An export of `spans` model and tool calls with their messages, as agents send them."""
    dice = random.Random(seed)
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    group.resource.attributes.add(key="service.name").value.string_value = "bench"
    scope = group.scope_spans.add()
    scope.scope.name = "bench"
    for number in range(spans):
        span = scope.spans.add(
            trace_id=dice.randbytes(16), span_id=dice.randbytes(8), parent_span_id=dice.randbytes(8), kind=3
        )
        span.name = "chat gpt-5" if number % 2 else "execute_tool lookup_order"
        span.start_time_unix_nano = 1_790_000_000_000_000_000 + number * 1_000_000
        span.end_time_unix_nano = span.start_time_unix_nano + 900_000
        for key, value in _attributes(dice).items():
            span.attributes.add(key=key).value.CopyFrom(any_value(value))
    return request.SerializeToString()


def _attributes(dice: random.Random) -> dict[str, object]:
    attributes: dict[str, object] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-5",
        "gen_ai.response.id": f"resp_{dice.getrandbits(96):x}",
        "gen_ai.usage.input_tokens": dice.randrange(50_000),
        "gen_ai.usage.output_tokens": dice.randrange(2000),
        "gen_ai.conversation.id": f"conv-{dice.randrange(1000)}",
        "gen_ai.agent.name": "returns_desk",
    }
    text = " ".join(f"{dice.choice(('order', 'refund', 'label', 'damaged'))} {dice.getrandbits(40)}" for _ in range(90))
    attributes["gen_ai.input.messages"] = text[: SPAN_BYTES - 550]
    return attributes


def http_sender(address: str, headers: str = "") -> Send:
    host, port = address.rsplit(":", 1)

    def send(bodies: list[bytes]) -> None:
        with socket.create_connection((host, int(port))) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for body in bodies:
                head = (
                    f"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-protobuf\r\n{headers}"
                    f"Content-Length: {len(body)}\r\n\r\n"
                )
                connection.sendall(head.encode())
                connection.sendall(body)
                answer = connection.recv(65536)
                if not answer.startswith(b"HTTP/1.1 200"):
                    raise RuntimeError(answer)

    return send


def grpc_sender(address: str) -> Send:
    def send(bodies: list[bytes]) -> None:
        options = [("grpc.use_local_subchannel_pool", 1)]
        with grpc.insecure_channel(address, options) as channel:
            export: Any = channel.unary_unary(METHOD)
            for body in bodies:
                export(body)

    return send


def measure(name: str, receiver: Supervised, send: Send, bodies: list[bytes], spans: int, requests: int) -> None:
    send(bodies[:2])
    clock = SystemClock()
    share = requests // SENDERS
    threads = [threading.Thread(target=send, args=(list(islice(cycle(bodies), n, n + share)),)) for n in range(SENDERS)]
    cpu, start = cpu_s(receiver.pid), clock.monotonic_s()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wall, used = clock.monotonic_s() - start, cpu_s(receiver.pid) - cpu
    total = share * SENDERS * spans
    size = sum(map(len, bodies)) // len(bodies)
    print(
        f"{name:<28} {size / 1000:7.1f} kB/request  {used / total * 1e6:6.2f} us CPU/span  "
        f"{used / share / SENDERS * 1e6:7.0f} us CPU/request  {total / wall:9.0f} spans/s"
    )


def cpu_s(pid: int) -> float:
    """User and system seconds of a process so far (proc(5), fields 14 and 15)."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * TICK_S


def main() -> None:
    requests = int(sys.argv[1]) if len(sys.argv) > 1 else 800
    directory = tempfile.mkdtemp(prefix="trailhound-bench-")
    config = Config.model_validate(
        {"data_dir": directory, "receive": {"grpc": "127.0.0.1:0", "http": "127.0.0.1:0"}, "journal": {"min_free": 1}}
    )
    receiver = Supervised("receiver", config, SystemClock())
    receiver.spawn()
    try:
        addresses = receiver.ready(30.0)
        large = [request_body(seed) for seed in range(8)]
        packed = [zlib.compress(body, 6) for body in large]
        small = [request_body(seed, 4) for seed in range(8)]
        over_http, over_grpc = http_sender(addresses["http"]), grpc_sender(addresses["grpc"])
        measure("HTTP", receiver, over_http, large, SPANS, requests)
        measure("gRPC", receiver, over_grpc, large, SPANS, requests)
        gzipped = http_sender(addresses["http"], "Content-Encoding: deflate\r\n")
        measure("HTTP, deflate", receiver, gzipped, packed, SPANS, requests // 4)
        measure("HTTP, small", receiver, over_http, small, 4, requests * 4)
        measure("gRPC, small", receiver, over_grpc, small, 4, requests * 4)
        status = Path(f"/proc/{receiver.pid}/status").read_text(encoding="ascii")
        peak = next(line for line in status.splitlines() if line.startswith("VmHWM")).split(maxsplit=1)[1]
        print(
            f"receiver's peak RSS {peak.strip()}; sender used {resource.getrusage(resource.RUSAGE_SELF).ru_utime:.1f} s"
        )
    finally:
        receiver.terminate()
        receiver.join(10.0)
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
