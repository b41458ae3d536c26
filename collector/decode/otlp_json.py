"""OTLP/JSON -> OTLP protobuf, lenient where senders are known to be wrong and clear where nothing can be guessed.

The JSON mapping is opentelemetry-proto 1.11 docs/specification.md "JSON Protobuf Encoding": hex ids, lowerCamelCase keys,
enums as numbers, 64-bit integers as string or number, unknown fields ignored. Also taken: snake_case keys, enum names,
upper-case hex, lone surrogates (they become U+FFFD). An id or number that cannot be read is left empty, so that only
its span is refused later; a wrong structure refuses the request.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from typing import Any

import orjson
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from trailhound.collector.decode.values import MAX_DEPTH
from trailhound.errors import Invalid
from trailhound.model import Signal

_KINDS = ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
_CODES = ("UNSET", "OK", "ERROR")
_UINT64_MAX = 2**64 - 1

Json = dict[str, Any]


def json_to_protobuf(signal: Signal, body: bytes) -> bytes:
    """The protobuf of an OTLP/JSON request body. Raises Invalid for text that is no JSON, or JSON that is no request."""
    root = _object(_parse(body), "the request")
    mine, other = ("resourceSpans", "resourceLogs") if signal == "traces" else ("resourceLogs", "resourceSpans")
    if _get(root, other) and not _get(root, mine):
        raise Invalid(f"the request has {other} and no {mine}: it belongs to the other address", reason="wrong_signal")
    return _traces(root) if signal == "traces" else _logs(root)


def _parse(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass  # lone surrogates, bad UTF-8, a byte order mark, NaN: the standard library takes them
    try:
        return json.loads(body.decode("utf-8-sig", "replace"))
    except RecursionError as error:
        raise Invalid("the JSON is nested too deep", reason="too_deep") from error
    except ValueError as error:
        raise Invalid(f"the body is no JSON: {error}", reason="bad_json") from error


def _traces(root: Json) -> bytes:
    request = ExportTraceServiceRequest()
    for resource_json in _objects(root, "resourceSpans"):
        group = request.resource_spans.add()
        _resource(resource_json, group)
        for scope_json in _objects(resource_json, "scopeSpans"):
            scope = group.scope_spans.add()
            _scope(scope_json, scope)
            for span_json in _objects(scope_json, "spans"):
                _span(span_json, scope.spans.add())
    return bytes(request.SerializeToString())


def _logs(root: Json) -> bytes:
    request = ExportLogsServiceRequest()
    for resource_json in _objects(root, "resourceLogs"):
        group = request.resource_logs.add()
        _resource(resource_json, group)
        for scope_json in _objects(resource_json, "scopeLogs"):
            scope = group.scope_logs.add()
            _scope(scope_json, scope)
            for log_json in _objects(scope_json, "logRecords"):
                _log(log_json, scope.log_records.add())
    return bytes(request.SerializeToString())


def _resource(source: Json, group: Any) -> None:
    resource = _get(source, "resource")
    if resource is not None:
        _attributes(_object(resource, "resource"), group.resource)
    group.schema_url = _string(_get(source, "schemaUrl"))


def _scope(source: Json, group: Any) -> None:
    scope = _get(source, "scope")
    if scope is not None:
        scope = _object(scope, "scope")
        group.scope.name, group.scope.version = _string(_get(scope, "name")), _string(_get(scope, "version"))
        _attributes(scope, group.scope)
    group.schema_url = _string(_get(source, "schemaUrl"))


def _span(source: Json, span: Any) -> None:
    span.trace_id, span.span_id = _hex(_get(source, "traceId")), _hex(_get(source, "spanId"))
    span.parent_span_id = _hex(_get(source, "parentSpanId"))
    span.trace_state, span.name = _string(_get(source, "traceState")), _string(_get(source, "name"))
    span.flags = _unsigned(_get(source, "flags"), 2**32 - 1)
    span.kind = _enum(_get(source, "kind"), "SPAN_KIND_", _KINDS)
    span.start_time_unix_nano = _unsigned(_get(source, "startTimeUnixNano"))
    span.end_time_unix_nano = _unsigned(_get(source, "endTimeUnixNano"))
    _attributes(source, span)
    span.dropped_events_count = _unsigned(_get(source, "droppedEventsCount"), 2**32 - 1)
    span.dropped_links_count = _unsigned(_get(source, "droppedLinksCount"), 2**32 - 1)
    for event_json in _objects(source, "events"):
        event = span.events.add()
        event.time_unix_nano, event.name = (
            _unsigned(_get(event_json, "timeUnixNano")),
            _string(_get(event_json, "name")),
        )
        _attributes(event_json, event)
    for link_json in _objects(source, "links"):
        link = span.links.add()
        link.trace_id, link.span_id = _hex(_get(link_json, "traceId")), _hex(_get(link_json, "spanId"))
        link.trace_state = _string(_get(link_json, "traceState"))
        _attributes(link_json, link)
    status = _get(source, "status")
    if status is not None:
        status = _object(status, "status")
        span.status.code = _enum(_get(status, "code"), "STATUS_CODE_", _CODES)
        span.status.message = _string(_get(status, "message"))


def _log(source: Json, log: Any) -> None:
    log.time_unix_nano = _unsigned(_get(source, "timeUnixNano"))
    log.observed_time_unix_nano = _unsigned(_get(source, "observedTimeUnixNano"))
    log.severity_number = _unsigned(_get(source, "severityNumber"), 24)
    log.severity_text, log.event_name = _string(_get(source, "severityText")), _string(_get(source, "eventName"))
    log.trace_id, log.span_id = _hex(_get(source, "traceId")), _hex(_get(source, "spanId"))
    log.flags = _unsigned(_get(source, "flags"), 2**32 - 1)
    body = _get(source, "body")
    if body is not None:
        _any_value(body, log.body)
    _attributes(source, log)


def _attributes(source: Json, target: Any) -> None:
    found = _get(source, "attributes")
    if isinstance(found, dict):
        raise Invalid(
            'attributes must be a list of {"key": ..., "value": {"stringValue": ...}}, not an object', reason="bad_json"
        )
    for item in _objects(source, "attributes"):
        added = target.attributes.add()
        added.key = _string(_get(item, "key"))
        value = _get(item, "value")
        if value is not None:
            _any_value(value, added.value)
    target.dropped_attributes_count = _unsigned(_get(source, "droppedAttributesCount"), 2**32 - 1)


def _any_value(source: Any, target: Any) -> None:
    """Fill the AnyValue `target`; arrays and maps from a stack, and empty below `MAX_DEPTH` as when decoding."""
    todo = [(source, target, 0)]
    while todo:
        source, target, depth = todo.pop()
        for key, value in _object(source, 'a value (as {"stringValue": ...})').items():
            name = _MEMBERS.get(key)
            if name is None or value is None:
                continue
            if name == "array_value" and depth < MAX_DEPTH:
                target.array_value.SetInParent()
                todo += [
                    (v, target.array_value.values.add(), depth + 1) for v in _list(value, "values") if v is not None
                ]
            elif name == "kvlist_value" and depth < MAX_DEPTH:
                target.kvlist_value.SetInParent()
                for item in _list(value, "values"):
                    item, added = _object(item, "an entry of kvlistValue"), target.kvlist_value.values.add()
                    added.key = _string(_get(item, "key"))
                    if _get(item, "value") is not None:
                        todo.append((item["value"], added.value, depth + 1))
            elif name in _SCALARS:
                scalar = _SCALARS[name](value)
                if scalar is not None:
                    setattr(target, name, scalar)


def _list(holder: Any, key: str) -> list[Any]:
    found = _get(_object(holder, "an array or map value"), key)
    if found is None:
        return []
    if not isinstance(found, list):
        raise Invalid(f"{key} must be a list", reason="bad_json")
    return found


def _objects(holder: Json, key: str) -> list[Json]:
    """The objects in the list under `key`; absent and null entries are legal and left out."""
    return [_object(item, f"an entry of {key}") for item in _list(holder, key) if item is not None]


def _object(value: Any, what: str) -> Json:
    if not isinstance(value, dict):
        raise Invalid(f"{what} must be a JSON object, not {type(value).__name__}", reason="bad_json")
    return value


_SNAKE: dict[str, str] = {}


def _get(source: Json, key: str) -> Any:
    """The value under the lowerCamelCase `key` or its snake_case form."""
    found = source.get(key)
    if found is not None:
        return found
    snake = _SNAKE.get(key)
    if snake is None:
        snake = _SNAKE[key] = "".join(f"_{c.lower()}" if c.isupper() else c for c in key)
    return source.get(snake)


def _string(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        value = orjson.dumps(value).decode() if isinstance(value, (dict, list)) else str(value)
    if value.isascii():
        return str(value)
    return str(value.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def _hex(value: Any) -> bytes:
    """The bytes of a hex id; b"" for anything else, so that the span alone is refused."""
    try:
        return bytes.fromhex(value) if isinstance(value, str) else b""
    except ValueError:
        return b""


def _number(value: Any) -> int | None:
    """An integer from a JSON number or a decimal string; None when it is none."""
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            value = _double(value)
    if isinstance(value, float):
        return int(value) if math.isfinite(value) else None
    return value if isinstance(value, int) else None


def _unsigned(value: Any, most: int = _UINT64_MAX) -> int:
    number = _number(value)
    return number if number is not None and 0 <= number <= most else 0


def _int64(value: Any) -> int | None:
    number = _number(value)
    return number if number is not None and -(2**63) <= number < 2**63 else None


def _double(value: Any) -> float | None:
    """A double from a number, a decimal string, or "NaN", "Infinity", "-Infinity"."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _bytes(value: Any) -> bytes | None:
    """Base64, standard or URL alphabet, padded or not."""
    if not isinstance(value, str):
        return None
    plain = value.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def _bool(value: Any) -> bool | None:
    return {"true": True, "false": False}.get(value) if isinstance(value, str) else bool(value)


def _enum(value: Any, prefix: str, names: tuple[str, ...]) -> int:
    """A number, or a name with or without its prefix. An unknown number passes (int32), an unknown name is 0."""
    if isinstance(value, str) and value.upper().removeprefix(prefix) in names:
        return names.index(value.upper().removeprefix(prefix))
    number = _number(value)
    return number if number is not None and -(2**31) <= number < 2**31 else 0


_SCALARS = {
    "string_value": _string,
    "bool_value": _bool,
    "int_value": _int64,
    "double_value": _double,
    "bytes_value": _bytes,
}
_MEMBERS = {
    camel: snake
    for snake in (*_SCALARS, "array_value", "kvlist_value")
    for camel in (snake, snake.split("_")[0] + "Value")
}
