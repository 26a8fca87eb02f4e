"""Finds the field whose value made a message impossible to encode, for the error message."""

import struct
from collections.abc import Sequence
from typing import Any

from .field_declarations import Field
from .primitives import BUFFER_TYPES, MAX_STRING_BYTES, Primitive


def describe_misfit(value: Any, version: int, path: str = "") -> str | None:
    """Where in the message, and what is wrong with it; None when every field fits."""
    for field in value.__schema__.fields:
        if version in field.versions:
            found = _describe_misfit_in_field(field, getattr(value, field.name), version, f"{path}{field.name}")
            if found:
                return found
    return None


def _describe_misfit_in_field(field: Field, value: Any, version: int, path: str) -> str | None:
    if value is None:
        return None if field.is_nullable(version) else f"{path} must not be None"
    if field.kind is Primitive.ARRAY:
        return _describe_misfit_in_array(field, value, version, path)
    if field.kind is Primitive.STRUCT:
        return _describe_misfit_in_item(Primitive.STRUCT, field.element, value, version, path)
    return _describe_misfit_in_item(field.kind, None, value, version, path)


def _describe_misfit_in_array(field: Field, value: Any, version: int, path: str) -> str | None:
    if not isinstance(value, Sequence):
        return f"{path}: {value!r} is no sequence"
    assert field.item is not None
    found = (
        _describe_misfit_in_item(field.item, field.element, item, version, f"{path}[{index}]")
        for index, item in enumerate(value)
    )
    return next((text for text in found if text), None)


def _describe_misfit_in_item(kind: Primitive, element: type | None, value: Any, version: int, path: str) -> str | None:
    if kind is Primitive.STRUCT:
        assert element is not None
        if not isinstance(value, element):
            return f"{path}: {value!r} is no {element.__name__}"
        return describe_misfit(value, version, f"{path}.")
    return None if _fits(kind, value) else f"{path}: {value!r} is no {kind.value}"


def _fits(kind: Primitive, value: Any) -> bool:
    match kind:
        case Primitive.STRING:
            return isinstance(value, str) and len(value.encode(errors="replace")) <= MAX_STRING_BYTES
        case Primitive.BYTES:
            return type(value) in BUFFER_TYPES
        case Primitive.RECORDS:
            return type(value) in BUFFER_TYPES or hasattr(value, "size_bytes")
        case Primitive.UUID:
            return hasattr(value, "bytes")
    try:
        struct.pack(">" + kind.code, value)
    except struct.error:
        return False
    return True
