"""What a resource says is read once for all spans that share it."""

from __future__ import annotations

from trailhound.collector.dialects.origin import Origins
from trailhound.model import Resource


def resource(service: str) -> Resource:
    return Resource({"service.name": service, "task": f"{service}'s task"})


def test_a_resource_is_read_once_for_each_set_of_task_keys() -> None:
    origins, one, keys, none = Origins(), resource("one"), ["task"], tuple[str, ...]()
    assert origins.of(one, keys).tasks == (("task", "one's task"),)
    assert origins.of(one, none).tasks == ()
    assert origins.of(one, keys) is origins.of(one, keys)


def test_resources_that_come_and_go_are_never_taken_for_another() -> None:
    origins, keys = Origins(), ["task"]
    for number in range(2000):  # most of them at the address of one before, if that were not kept
        assert origins.of(resource(f"s{number}"), keys).service == f"s{number}"
