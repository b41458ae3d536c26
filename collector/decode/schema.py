"""Copies of the OTLP message types in which strings, and all that nests deeper, are plain bytes.

A generated OTLP class refuses the whole request for one byte of invalid UTF-8 or one attribute nested too deep. With
these types upb checks one level at a time: the request, then each span by itself. Field numbers from
opentelemetry/proto/{trace,logs,common,collector}/v1 1.11; a field that is missing here is skipped.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_F = descriptor_pb2.FieldDescriptorProto
_TYPES = {
    "bytes": _F.TYPE_BYTES,
    "fixed64": _F.TYPE_FIXED64,
    "fixed32": _F.TYPE_FIXED32,
    "uint32": _F.TYPE_UINT32,
    "int32": _F.TYPE_INT32,
}

_MESSAGES: dict[str, dict[str, tuple[int, str]]] = {
    # the request, for traces and logs alike: groups=1; ResourceSpans/ResourceLogs; ScopeSpans/ScopeLogs
    "Request": {"groups": (1, "repeated Group")},
    "Group": {"resource": (1, "bytes"), "scopes": (2, "repeated ScopeGroup")},
    "ScopeGroup": {"scope": (1, "bytes"), "items": (2, "repeated bytes")},
    "Resource": {"attributes": (1, "repeated bytes")},
    "Scope": {"name": (1, "bytes"), "version": (2, "bytes")},
    "Ids": {"trace_id": (1, "bytes"), "span_id": (2, "bytes")},
    # a traces request of which only the ids are read
    "IdsRequest": {"groups": (1, "repeated IdsGroup")},
    "IdsGroup": {"scopes": (2, "repeated IdsScope")},
    "IdsScope": {"items": (2, "repeated Ids")},
    # a traces request with its spans
    "SpansRequest": {"groups": (1, "repeated SpansGroup")},
    "SpansGroup": {"scopes": (2, "repeated SpansScope")},
    "SpansScope": {"items": (2, "repeated Span")},
    "Span": {
        "trace_id": (1, "bytes"),
        "span_id": (2, "bytes"),
        "trace_state": (3, "bytes"),
        "parent_span_id": (4, "bytes"),
        "name": (5, "bytes"),
        "kind": (6, "int32"),
        "start": (7, "fixed64"),
        "end": (8, "fixed64"),
        "attributes": (9, "repeated bytes"),
        "dropped_attributes": (10, "uint32"),
        "events": (11, "repeated bytes"),
        "dropped_events": (12, "uint32"),
        "links": (13, "repeated bytes"),
        "dropped_links": (14, "uint32"),
        "status": (15, "bytes"),
        "flags": (16, "fixed32"),
    },
    "Event": {"time": (1, "fixed64"), "name": (2, "bytes"), "attributes": (3, "repeated bytes")},
    "Link": {"trace_id": (1, "bytes"), "span_id": (2, "bytes"), "attributes": (4, "repeated bytes")},
    "Status": {"message": (2, "bytes"), "code": (3, "int32")},
    "Log": {
        "time": (1, "fixed64"),
        "severity": (2, "int32"),
        "body": (5, "bytes"),
        "attributes": (6, "repeated bytes"),
        "trace_id": (9, "bytes"),
        "span_id": (10, "bytes"),
        "observed": (11, "fixed64"),
        "event_name": (12, "bytes"),
    },
}
_PACKAGE = "trailhound.wire"


def _file() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="trailhound/wire.proto", package=_PACKAGE, syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, (number, kind) in fields.items():
            label = _F.LABEL_REPEATED if kind.startswith("repeated ") else _F.LABEL_OPTIONAL
            kind = kind.removeprefix("repeated ")
            made = message.field.add(name=field, number=number, label=label)
            if kind in _TYPES:
                made.type = _TYPES[kind]
            else:
                made.type, made.type_name = _F.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"
    return file


_pool = descriptor_pool.DescriptorPool()
_pool.Add(_file())


def _class(name: str) -> Any:
    return message_factory.GetMessageClass(_pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))


Request, Resource, Scope, Ids = _class("Request"), _class("Resource"), _class("Scope"), _class("Ids")
IdsRequest, SpansRequest = _class("IdsRequest"), _class("SpansRequest")
Span, Event, Link, Status, Log = _class("Span"), _class("Event"), _class("Link"), _class("Status"), _class("Log")
