"""Which steps count: every call once, however many spans report it (leaf rule, doubles, transport, rollups)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trailhound.collector.assemble.lineage import Lineage
from trailhound.model import Step

MODEL_KINDS = ("llm", "embedding")


def has_usage(step: Step) -> bool:
    usage = step.usage
    return usage is not None and (usage.input_tokens is not None or usage.output_tokens is not None)


def bare_tool(name: str) -> str:
    """`mcp__shop__refund` and `tools/call refund` are the tool `refund`, as the MCP transport's own spans call it."""
    return name.rsplit("__", 1)[-1].rsplit("/", 1)[-1].removeprefix("call ").strip()


def is_call(step: Step) -> bool:
    return step.kind in MODEL_KINDS or step.kind == "tool"


class Accounting:
    """Keeps `Step.counted` right for all spans of one trace.

    The rules (SEMCONV section 3): of model spans inside one another only the innermost that carries usage counts;
    a container's usage counts only when nothing below it carries any; a tool span inside a tool span of the same tool
    is its transport; two instrumentations side by side report one call twice. Each is a function of the set of spans,
    so a later arrival may change what an earlier one counted as; the steps that changed are returned.
    """

    def __init__(self, lineage: Lineage) -> None:
        self._lineage = lineage
        self._model_below: set[str] = set()
        """Span ids, known or announced, with a model span below them."""
        self._usage_below: set[str] = set()
        """... with a model span that carries usage below them."""
        self._rollup_below: set[str] = set()
        """... with any usage below them."""
        self._twins = Twins()
        self.joined = False
        """Whether other traces are part of the run: a served call at the top of this one is then one of theirs."""

    def add(self, step: Step) -> list[Step]:
        """Take a step just placed in the lineage; returns it and every earlier step whose `counted` changed."""
        touched = {step.span_id: step}
        for above in self._mark(step):
            touched[above.span_id] = above
            if above.kind in MODEL_KINDS and has_usage(above):  # it may stop standing for the attempts inside it
                touched.update((s.span_id, s) for s in self._affected_below(above))
        if step.span_id in self._lineage.children:
            for below in self._affected_below(step):
                touched[below.span_id] = below
        self._twins.add(step)
        changed = {step.span_id: step, **{s.span_id: s for s in self.recount(touched.values())}}
        for twin in [t for s in changed.values() for t in self._twins.of(s) if t.span_id not in changed]:
            if self._decide(twin):
                changed[twin.span_id] = twin
        return list(changed.values())

    def recount(self, steps: Iterable[Step]) -> list[Step]:
        """Decide again about `steps`; returns those whose `counted` changed."""
        return [s for s in steps if self._decide(s)]

    # ------------------------------------------------------------ marks go up

    def _mark(self, step: Step) -> Iterator[Step]:
        """Tell the ancestors what is below them; yields those that were told something new."""
        marks = self._marks_of(step)
        parent = step.parent_span_id
        while parent and marks:
            marks = [m for m in marks if parent not in m]
            for mark in marks:
                mark.add(parent)
            above = self._lineage.steps.get(parent)
            if above is None or not marks:
                return
            yield above
            parent = above.parent_span_id

    def _marks_of(self, step: Step) -> list[set[str]]:
        """The marks that this step, or what is known to be below it, puts on its ancestors."""
        usage = has_usage(step)
        model = step.kind in MODEL_KINDS
        span_id = step.span_id
        marks = []
        if model or span_id in self._model_below:
            marks.append(self._model_below)
        if (model and usage) or span_id in self._usage_below:
            marks.append(self._usage_below)
        if usage or span_id in self._rollup_below:
            marks.append(self._rollup_below)
        return marks

    def _affected_below(self, step: Step) -> Iterator[Step]:
        """Descendants that may count otherwise now that `step` stands above them."""
        inside_tool = step.kind == "tool" or any(a.kind == "tool" for a in self._lineage.ancestors(step))
        inside_model = step.kind in MODEL_KINDS or any(a.kind in MODEL_KINDS for a in self._lineage.ancestors(step))
        if inside_tool or inside_model:
            yield from (s for s in self._lineage.descendants(step) if is_call(s))

    def _is_double(self, step: Step) -> bool:
        return any(_rank(other) < _rank(step) and self._stands_alone(other) for other in self._twins.of(step))

    # ------------------------------------------------------------ the decision

    def _decide(self, step: Step) -> bool:
        counted = self._counts(step)
        changed = counted != step.counted
        step.counted = counted
        return changed

    def _counts(self, step: Step) -> bool:
        if is_call(step):
            return self._stands_alone(step) and not self._is_double(step)
        if step.container:
            return has_usage(step) and step.span_id not in self._rollup_below
        return True

    def _stands_alone(self, step: Step) -> bool:
        """Whether the step is a call of its own by nesting alone."""
        return self._model_counts(step) if step.kind in MODEL_KINDS else not self._is_transport(step)

    def _model_counts(self, step: Step) -> bool:
        if has_usage(step):
            return step.span_id not in self._usage_below
        if step.span_id in self._model_below:
            return False
        return not any(
            a.kind in MODEL_KINDS and has_usage(a) and a.span_id not in self._usage_below
            for a in self._lineage.ancestors(step)
        )

    def _is_transport(self, step: Step) -> bool:
        if step.tool is None:
            return False
        if step.transport and self.joined and not step.parent_span_id:
            return True
        name, call_id = bare_tool(step.tool.name), step.tool.call_id
        for above in self._lineage.ancestors(step):
            if above.kind == "tool" and above.tool is not None:
                if bare_tool(above.tool.name) == name or (call_id is not None and above.tool.call_id == call_id):
                    return True
            elif above.kind == "agent":
                return False  # a sub-agent may well use the tool that it is itself called through
        return False


class Twins:
    """Finds second reports of a call by another instrumentation: siblings that nesting cannot tell."""

    _MOST = 64
    """Candidates kept per key and instrumentation, so that a run of equal calls stays cheap."""

    def __init__(self) -> None:
        self._groups: dict[tuple[object, ...], dict[str, list[Step]]] = {}

    def add(self, step: Step) -> None:
        for key in _twin_keys(step):
            group = self._groups.setdefault(key, {}).setdefault(step.instrumentation, [])
            group[:] = [s for s in group if s.span_id != step.span_id][-self._MOST :]
            group.append(step)

    def of(self, step: Step) -> list[Step]:
        """Steps of other instrumentations that report the same call at the same time."""
        found: dict[str, Step] = {}
        for key in _twin_keys(step):
            for instrumentation, group in self._groups.get(key, {}).items():
                if instrumentation != step.instrumentation:
                    found.update((s.span_id, s) for s in group if _same_call(step, s))
        return list(found.values())


def _twin_keys(step: Step) -> list[tuple[object, ...]]:
    if step.kind in MODEL_KINDS:
        keys: list[tuple[object, ...]] = [("response", step.response_id)] if step.response_id else []
        if step.usage is not None and has_usage(step):
            keys.append(("usage", step.parent_span_id, step.usage.input_tokens, step.usage.output_tokens))
        return keys
    if step.kind == "tool" and step.tool is not None and step.tool.call_id is not None:
        return [("call", step.tool.call_id)]
    return []


def _same_call(a: Step, b: Step) -> bool:
    if a.response_id and b.response_id and a.response_id != b.response_id:
        return False
    if a.kind == "tool" and not {a.status, b.status} <= {"ok", "error"}:
        return False  # a pending call and its execution are two events
    return a.start_ns <= b.end_ns and b.start_ns <= a.end_ns


def _rank(step: Step) -> tuple[bool, int, int, int, str]:
    """The better report of a call comes first: with usage, with more of it known, nearer to the provider (shorter)."""
    usage = step.usage
    unknown = 5 if usage is None else sum(
        v is None for v in (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens, usage.reasoning_tokens)
    )  # fmt: skip
    if step.tool is not None:
        unknown = (step.tool.arguments is None) + (step.tool.result is None)
    return (not has_usage(step), unknown, step.end_ns - step.start_ns, step.start_ns, step.span_id)
