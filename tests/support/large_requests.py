"""The largest requests that an API's limits allow, made from its message: arrays filled with distinct items."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

from stepdown.protocol.field_declarations import Field
from stepdown.protocol.primitives import Primitive
from stepdown.protocol.schema import schema_of

FIXED = {
    "validate_only": True,
    "resource_type": 2,
    "name": None,
    "timeout_ms": 1000,
    "response_partition_limit": 2000,
    "acks": -1,
    "transactional_id": None,
}
"""Fields in which any value is not as good as another; None: a distinct name, as elsewhere."""


def large_requests(cls: type, version: int, most_items: int) -> Iterator[tuple[str, Any]]:
    """By a name: all items in the outer array; and all in the inner arrays of one of them."""
    yield "wide", _Maker(version, most_items, 1).make(cls)
    yield "deep", _Maker(version, 1, most_items).make(cls)


class _Maker:
    """Fills the first level of arrays with `outer` items in all, and the arrays in those with `inner`."""

    def __init__(self, version: int, outer: int, inner: int) -> None:
        self._version = version
        self._sizes = outer, inner
        self._left = max(outer, inner)
        self._numbers = itertools.count()

    def make(self, cls: type, depth: int = 0) -> Any:
        make: Callable[..., Any] = cls
        fields = [field for field in schema_of(cls).fields if self._version in field.versions]
        return make(**{field.name: self._value(field, depth, fields) for field in fields})

    def _value(self, field: Field, depth: int, fields: list[Field]) -> Any:
        if field.item is not None:
            arrays = sum(each.item is not None for each in fields)
            size = (self._sizes[depth] if depth < 2 else 1) // (1 + (depth == 0 and self._sizes[0] > 1)) // arrays
            size = min(max(1, size), self._left)
            self._left -= size
            if field.element is not None:
                return tuple(self.make(field.element, depth + 1) for _ in range(size))
            return tuple(self._plain(field.item) for _ in range(size))
        if field.element is not None:
            return None if field.is_nullable(self._version) else self.make(field.element, depth)
        fixed = FIXED.get(field.name)
        return (
            self._plain(field.kind) if fixed is None and field.kind is Primitive.STRING else _or(fixed, field.default)
        )

    def _plain(self, kind: Primitive) -> Any:
        number = next(self._numbers)
        if kind is Primitive.STRING:
            return f"n{number}"
        if kind is Primitive.UUID:
            return UUID(int=number + 1)
        return number % 128 if kind is Primitive.INT8 else number % 30_000


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value
