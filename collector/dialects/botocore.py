"""Amazon Bedrock under botocore's instrumentation: OTel GenAI, but input tokens as Converse counts them, without the cached.

opentelemetry-instrumentation-botocore 0.66b2 copies `inputTokens`, `cacheReadInputTokens` and `cacheWriteInputTokens`.
"""

from __future__ import annotations

from trailhound.collector.dialects.base import Dialect, Seen
from trailhound.collector.dialects.usage import normalise
from trailhound.model import Step


def refine(step: Step, seen: Seen) -> None:
    if step.usage is not None:
        step.usage = normalise(seen.facts, exclusive=True)


DIALECT = Dialect(
    name="botocore",
    order=97,
    scopes=("opentelemetry.instrumentation.botocore.",),
    refine=refine,
)
