"""Amazon Bedrock under botocore's and OpenLLMetry's instrumentations: input tokens as Bedrock counts them, without the cached.

opentelemetry-instrumentation-botocore 0.66b2 and -bedrock 0.62 copy `inputTokens`, `cacheReadInputTokens` and
`cacheWriteInputTokens`; the latter's total is the sum of the first and the output.
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
    scopes=("opentelemetry.instrumentation.botocore.", "opentelemetry.instrumentation.bedrock"),
    refine=refine,
)
