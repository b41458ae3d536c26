"""Made-up load for benchmarks: requests of many runs of one agent each, in today's OTel GenAI convention."""

from __future__ import annotations

import json
import random

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

START_NS = 1_790_000_000_000_000_000
TOOLS = ("search_docs", "get_order", "refund_order", "run_sql", "read_file", "http_get", "send_email", "create_ticket")
MODELS = (("openai", "gpt-5.1", "gpt-5.1-2026-08-14"), ("anthropic", "claude-sonnet-5", "claude-sonnet-5-20260901"))
WORDS = """the order was shipped from our warehouse and is expected to arrive on Tuesday between nine and noon, unless weather delays the last mile; the customer asked for a label, a refund or a replacement part with a note about its size""".split()  # noqa: SIM905


class LoadMaker:
    """Makes bodies of agent runs: one `invoke_agent` over `turns` `chat` spans, with an `execute_tool` between any two.

    About 20 attributes and 1.9 kB a span; without `content` no messages, arguments or results, as many senders have it.
    A model call is given the first and the last three messages, or with `whole` all of them.
    """

    def __init__(self, seed: int, *, turns: int = 8, content: bool = True, whole: bool = False) -> None:
        self.rng = random.Random(seed)
        self.turns, self.content, self.whole = turns, content, whole

    def text(self, words: int) -> str:
        return " ".join(self.rng.choices(WORDS, k=words))

    def body(self, runs: int = 32) -> bytes:
        """A traces request of `runs` runs."""
        request = ExportTraceServiceRequest()
        group = request.resource_spans.add()
        set_all(group.resource, {"service.name": f"agents-{self.rng.randrange(8)}", "service.version": "3.14.2"})
        scope = group.scope_spans.add()
        scope.scope.name = "opentelemetry.instrumentation.genai"
        for _ in range(runs):
            self.run(scope.spans)
        return request.SerializeToString()

    def run(self, spans) -> None:  # type: ignore[no-untyped-def]  # a repeated container has no public type
        trace, root = self.rng.randbytes(16), self.rng.randbytes(8)
        provider, model, answered_by = self.rng.choice(MODELS)
        common = {
            "gen_ai.conversation.id": f"conv_{self.rng.getrandbits(96):024x}",
            "gen_ai.agent.name": f"agent-{self.rng.randrange(8)}",
            "gen_ai.agent.id": f"asst_{self.rng.randrange(8):016x}",
        }
        user = f"user-{self.rng.randrange(5000)}"
        history = [message("system", self.text(40)), message("user", self.text(30))]
        clock = START_NS
        for turn in range(self.turns):
            call: dict[str, object] = {
                "type": "tool_call",
                "id": f"call_{self.rng.getrandbits(96):024x}",
                "name": self.rng.choice(TOOLS),
            }
            call["arguments"] = {"query": self.text(6), "id": self.rng.randrange(10**6), "filter": {"status": "open"}}
            last = turn == self.turns - 1
            answer = message("assistant", self.text(40)) if last else dict[str, object](role="assistant", parts=[call])
            chat = spans.add(trace_id=trace, span_id=self.rng.randbytes(8), parent_span_id=root, name=f"chat {model}")
            finish(chat, clock := clock + 10**9)
            set_all(chat, common | {"user.id": user} | self.chat(provider, model, answered_by, turn, last))
            if self.content:
                given = history if self.whole else [history[0], *history[-3:]]
                set_all(chat, {"gen_ai.input.messages": json.dumps(given)})
                set_all(chat, {"gen_ai.output.messages": json.dumps([answer])})
            if last:
                break
            tool = spans.add(trace_id=trace, span_id=self.rng.randbytes(8), parent_span_id=root, name="execute_tool")
            finish(tool, clock := clock + 10**9)
            data = self.text(90)
            result = json.dumps({"ok": True, "rows": self.rng.randrange(50), "data": data})
            set_all(tool, common | self.tool(call, result))
            history += [
                answer,
                {"role": "tool", "parts": [{"type": "tool_call_response", "id": call["id"], "result": data[:400]}]},
            ]
        agent = spans.add(trace_id=trace, span_id=root, name="invoke_agent", start_time_unix_nano=START_NS)
        agent.end_time_unix_nano = clock
        set_all(agent, common | {"gen_ai.operation.name": "invoke_agent", "gen_ai.usage.input_tokens": 9000})

    def chat(self, provider: str, model: str, answered_by: str, turn: int, last: bool) -> dict[str, object]:
        tokens = 500 + turn * self.rng.randrange(200, 400)
        return {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider,
            "gen_ai.request.model": model,
            "gen_ai.response.model": answered_by,
            "gen_ai.response.id": f"resp_{self.rng.getrandbits(96):024x}",
            "gen_ai.request.temperature": 0.2,
            "gen_ai.request.max_tokens": 4096,
            "gen_ai.request.top_p": 1.0,
            "gen_ai.response.finish_reasons": ["stop" if last else "tool_call"],
            "gen_ai.usage.input_tokens": tokens,
            "gen_ai.usage.output_tokens": self.rng.randrange(20, 300),
            "gen_ai.usage.cache_read.input_tokens": tokens // 2,
            "gen_ai.output.type": "text",
            "server.address": f"api.{provider}.com",
            "server.port": 443,
        }

    def tool(self, call: dict[str, object], result: str) -> dict[str, object]:
        seen = {"gen_ai.tool.call.arguments": json.dumps(call["arguments"]), "gen_ai.tool.call.result": result}
        return {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call["name"],
            "gen_ai.tool.call.id": call["id"],
            "gen_ai.tool.type": "function",
            "gen_ai.tool.description": "Looks something up in the shop.",
            **(seen if self.content else {}),
        }


def message(role: str, content: str) -> dict[str, object]:
    return {"role": role, "parts": [{"type": "text", "content": content}]}


def finish(span: Span, start: int) -> None:
    span.start_time_unix_nano, span.end_time_unix_nano, span.flags = start, start + 4 * 10**8, 257
    span.status.code = Status.STATUS_CODE_OK


def set_all(target, values: dict[str, object]) -> None:  # type: ignore[no-untyped-def]  # Span or Resource
    for key, value in values.items():
        added = target.attributes.add(key=key).value
        if isinstance(value, int):
            added.int_value = value
        elif isinstance(value, float):
            added.double_value = value
        elif isinstance(value, str):
            added.string_value = value
        elif isinstance(value, list):
            for item in value:
                added.array_value.values.add(string_value=item)
