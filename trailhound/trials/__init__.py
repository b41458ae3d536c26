"""Runs an agent on the cases of a test set, k times each, and judges every trial with the code that judges live traffic."""

from trailhound.evaluators.testset.stubs import NotRecorded, RecordedError
from trailhound.trials.trial import Trial

__all__ = ["NotRecorded", "RecordedError", "Trial"]
