"""Checks the types of values in a parsed JSON or YAML document. No message shows more than 100 characters."""

from typing import Any
from uuid import UUID

from ..files.partition_metadata import decode_uuid


class MalformedDocument(ValueError):
    """The document has an unexpected value; the message says where."""


def read_mapping(value: object, place: str) -> dict[Any, Any]:
    """Raises: MalformedDocument, without the value, which may be a secret."""
    if not isinstance(value, dict):
        raise MalformedDocument(f"{place}: names and values expected, found {type(value).__name__}")
    return value


def read_list(value: object, place: str) -> list[Any]:
    """Raises: MalformedDocument, without the value, which may be a secret."""
    if not isinstance(value, list):
        raise MalformedDocument(f"{place}: a list expected, found {type(value).__name__}")
    return value


def read_whole_number(value: object, place: str) -> int:
    """Raises: MalformedDocument."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise MalformedDocument(f"{place}: a whole number expected, found {value!r:.100}")
    return value


def read_uuid(value: object, place: str) -> UUID:
    """Raises: MalformedDocument."""
    try:
        return decode_uuid(str(value))
    except ValueError as fault:
        raise MalformedDocument(f"{place}: {fault}") from fault
