"""The control port as an OpenAPI 3.1 description, made of what the control and the kinds of faults declare."""

from collections.abc import Iterable, Mapping
from dataclasses import MISSING
from typing import Any

from ..faults.control_operation import ID, ControlOperation, Reader, describe_expectation
from ..faults.fault import Fault
from ..faults.fault_fields import fields_of_kind
from ..faults.kinds import KINDS
from ..faults.kinds.hook import HookFault

Json = dict[str, Any]
OVER_HTTP = [kind for kind in KINDS.values() if kind is not HookFault]
"""A hook is a function, which only Python has."""


def openapi(operations: Iterable[ControlOperation]) -> Json:
    """The description of these operations, ready for JSON."""
    paths: dict[str, Json] = {}
    for each in operations:
        paths.setdefault(f"/{each.path}", {})[each.method.lower()] = _describe_operation(each)
    return {
        "openapi": "3.1.0",
        "info": {"title": "The control port of stepdown", "version": "1"},
        "paths": paths,
        "components": {"schemas": {kind.kind: _describe_fault(kind) for kind in OVER_HTTP}},
    }


def _describe_operation(operation: ControlOperation) -> Json:
    shown: Json = {"summary": operation.what, "responses": _responses()}
    if ID in operation.path:
        shown["parameters"] = [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}]
    schema = None
    if operation.fields is None:
        schema = {"oneOf": [{"$ref": f"#/components/schemas/{kind.kind}"} for kind in OVER_HTTP]}
    elif operation.fields:
        schema = _describe_object(operation.fields, operation.needs)
    if schema is not None:
        shown["requestBody"] = {"content": {"application/json": {"schema": schema}}}
    return shown


def _responses() -> Json:
    answer = {"content": {"application/json": {"schema": {"type": "object"}}}}
    return {"200": {"description": "It is done.", **answer}, "default": {"description": "`error` says why.", **answer}}


def _describe_object(readers: Mapping[str, Reader], needs: Iterable[str]) -> Json:
    properties = {name: {"description": describe_expectation(reader)} for name, reader in readers.items()}
    return {"type": "object", "additionalProperties": False, "properties": properties, "required": list(needs)}


def _describe_fault(kind: type[Fault]) -> Json:
    known = fields_of_kind(kind)
    needs = [each.name for each in known if each.default is MISSING]
    shown = _describe_object({each.name: each.metadata["parser"] for each in known}, ["kind", *needs])
    shown["properties"]["kind"] = {"const": kind.kind}
    return {**shown, "description": (kind.__doc__ or "").strip()}
