"""The configuration: one YAML file, every key typed and documented here, `TRAILHOUND_` variables over it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field

from trailhound.alert_settings import Alerts
from trailhound.checked import validated
from trailhound.demands import TaskContract
from trailhound.errors import Invalid
from trailhound.judgement import Evaluators, Suppression, Verdicts
from trailhound.notation import Duration, Names, Size, parse_duration, parse_size
from trailhound.review_settings import Review
from trailhound.section import Section

__all__ = [
    "Api",
    "Approvals",
    "Config",
    "Duration",
    "Journal",
    "Prices",
    "Receive",
    "Retention",
    "Runs",
    "Size",
    "Store",
    "Tool",
    "Trust",
    "load",
    "parse_duration",
    "parse_size",
]


class Receive(Section):
    """Where OTLP comes in, and how much of it at once."""

    grpc: str = Field("127.0.0.1:4317", description="host:port for OTLP/gRPC; port 0 takes any free port")
    http: str = Field("127.0.0.1:4318", description="host:port for OTLP/HTTP (protobuf and JSON)")
    max_request: Size = Field(64 * 2**20, description="largest request after decompression, both protocols")
    max_in_flight: Size = Field(
        128 * 2**20, description="bytes of requests being handled at once; above it clients are told to retry"
    )
    body_timeout: Duration = Field(30.0, description="a request body must have arrived within this time")
    allow_remote: bool = Field(
        False,
        description="accept from other machines; there is no authentication yet, so put an OpenTelemetry Collector or a proxy in front",
    )


class Api(Section):
    """The HTTP API, the UI and /metrics."""

    listen: str = Field("127.0.0.1:4320", description="host:port of the API, the UI and /metrics")
    allow_remote: bool = Field(
        False,
        description="allow an address that others can reach; the API has no authentication yet, so put a proxy that has before it",
    )
    hosts: list[str] = Field(
        [],
        description="further names under which the API is reached (Host header); others are refused, against DNS rebinding",
    )


class Journal(Section):
    """The durable log that every acknowledged request is in."""

    max_size: Size = Field(10 * 2**30, description="journal bytes on disk; above it clients are told to retry")
    min_free: Size = Field(2**30, description="free disk space below which clients are told to retry")
    segment_size: Size = Field(32 * 2**20, description="a segment is sealed, and inserted into the store, at this size")
    segment_age: Duration = Field(1.0, description="... or at this age, whichever comes first")
    keep: Duration = Field(
        600.0, description="how long a segment stays on disk after its insert, since the store does not fsync"
    )


class Store(Section):
    """Where spans, trajectories and findings are kept."""

    dsn: str | None = Field(
        None,
        description="chdb:///path (embedded), clickhouse://user:password@host:port/db or https://...; default: embedded inside data_dir",
    )


class Runs(Section):
    """When a run is over."""

    grace: Duration = Field(3.0, description="a run is over this long after its root span ended")
    idle: Duration = Field(
        900.0, description="a run without an ended root is unfinished after this long without a span"
    )
    waiting: Duration = Field(86400.0, description="the same for a run that waits for a person")
    learn_idle: bool = Field(
        False,
        description="learn from an agent's completed runs how long they pause, and call its runs idle after four times that (at least 30 s, at most `idle`)",
    )
    max_steps: int = Field(
        100_000,
        gt=0,
        description="spans of one run that are judged; it is closed with the reason `step_limit` then, and further ones are stored only",
    )
    memory: Size = Field(
        512 * 2**20,
        description="about how much memory runs may take; above it those longest without a span are closed with the reason `memory` and come back from the store with their next span",
    )
    task: list[str] = Field(["agent.task", "gen_ai.task.name"], description="attributes that name the task of a run")
    join: list[Literal["call_id", "link", "transport", "pause"]] = Field(
        ["call_id", "link", "transport", "pause"],
        description="what joins several traces to one run: the id of a tool call that one trace asked for and another ran or was answered, a pause for a person with its resumption in the same session, a span link of a root, an MCP server's span inside the call that it carried out; `[]`: nothing",
    )


class Retention(Section):
    """How long the store keeps rows, by the date they were received."""

    spans: Duration = Field(30 * 86400.0, description="raw spans")
    trajectories: Duration = Field(365 * 86400.0, description="run summaries")
    findings: Duration = Field(365 * 86400.0, description="findings")


class Prices(Section):
    """Prices of models, where the spans carry no cost."""

    file: Path | None = Field(
        None, description="YAML of prices that win over the built-in list; read when Trailhound starts, see prices.md"
    )


class Tool(Section):
    """What one of the agent's tools is."""

    match: Names = Field(description="names, matched whole; `delete_*` is a glob over the whole name")
    risk: Literal["low", "high"] = Field("low", description="high: its calls are judged by the approval rule")
    approval: Literal["required", "none"] = Field("required", description="whether a high-risk call needs an approval")
    when: str | None = Field(
        None,
        description="CEL over `args`: the call is high risk only when true, or when it cannot be computed: a field is absent, or it would look at more than 1000 elements of lists or at arguments of more than 100,000 values",
    )
    poll: bool = Field(False, description="a polling tool: repeating it is no loop")
    volatile: list[str] = Field(
        [], description="arguments and result fields that differ without meaning (request ids, timestamps)"
    )
    error_when: str | None = Field(None, description="CEL over `result`: the call failed although its span says ok")
    claims: list[str] = Field(
        [],
        description="patterns (RE2) of statements in an answer that claim this tool's action was done (rule `false-claim`)",
    )


class Trust(Section):
    """Whose approvals count."""

    services: list[str] = Field(["*"], description="services (globs) whose approval evidence is believed")
    actors: list[Literal["human", "policy", "hook", "model", "unknown"]] = Field(
        ["human", "policy"], description="kinds of actor whose approval counts"
    )


class Approvals(Section):
    """How approvals are judged."""

    complete: bool = Field(
        False,
        description="all approvals of the watched services reach Trailhound: a call without one is `missing`, not `unknown`",
    )
    trust: Trust = Trust()
    keep: Duration = Field(
        7 * 86400.0, description="how long a decision is good for and remembered, across restarts too"
    )
    hold: Duration = Field(
        10.0,
        description="how long after a call its finding stays `pending`, because evidence that travels separately may still arrive; later evidence resolves it",
    )


class Config(Section):
    """The whole configuration file."""

    data_dir: Path = Field(
        Path("trailhound-data"), description="journal, embedded store and keys; created 0700, locked by the daemon"
    )
    receive: Receive = Receive()
    api: Api = Api()
    journal: Journal = Journal()
    store: Store = Store()
    runs: Runs = Runs()
    retention: Retention = Retention()
    prices: Prices = Prices()
    tools: list[Tool] = Field([], description="what the agent's tools are; first match wins")
    rules: dict[str, dict[str, Any]] = Field(
        {}, description="settings of each rule by its id; `trailhound rules` lists them"
    )
    evaluators: Evaluators = Evaluators()
    verdicts: Verdicts = Verdicts()
    suppress: list[Suppression] = Field([], description="findings that shall not alert for a while")
    approvals: Approvals = Approvals()
    contracts: list[TaskContract] = Field([], description="what the runs of an agent or task must do; first match wins")
    alerts: Alerts = Alerts()
    review: Review = Review()


def load(path: Path | None, environ: Mapping[str, str] = os.environ) -> Config:
    """The configuration from `path` (None: defaults only) with `TRAILHOUND_` variables over it.

    Raises Invalid with one line that names the key, what is wrong with it and what is possible.
    """
    data = _read(path) if path is not None else {}
    for name, value in environ.items():
        _override(data, name, value)
    return validated(Config, data, where=str(path) if path is not None else "environment")


def _read(path: Path) -> dict[str, Any]:
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Invalid(f"{path}: no such file", reason="config") from None
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"{path}: cannot be read: {error}", reason="config") from None
    except yaml.YAMLError as error:
        raise Invalid(f"{path}: is no valid YAML: {' '.join(str(error).split())}", reason="config") from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise Invalid(f"{path}: must be a mapping of settings, not a {type(data).__name__}", reason="config")
    return data


_NOT_SETTINGS = {"TRAILHOUND_API", "TRAILHOUND_CONFIG", "TRAILHOUND_FAILPOINT"}


def _override(data: dict[str, Any], name: str, value: str) -> None:
    """`TRAILHOUND_RECEIVE__GRPC=...` sets `receive.grpc`; the value is read as YAML."""
    if not name.startswith("TRAILHOUND_") or name in _NOT_SETTINGS:
        return
    *sections, key = name.removeprefix("TRAILHOUND_").lower().split("__")
    target = data
    for section in sections:
        inner = target.setdefault(section, {})
        if not isinstance(inner, dict):
            raise Invalid(f"{name}: `{section}` is no section", reason="config")
        target = inner
    try:
        target[key] = yaml.safe_load(value)
    except yaml.YAMLError:
        target[key] = value
