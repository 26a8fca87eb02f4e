"""Every message in every version, and Hypothesis strategies that make values of them from their declarations."""

from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st
from stepdown.protocol.api import API, ApiSpec
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.field_declarations import Field
from stepdown.protocol.primitives import Primitive
from stepdown.protocol.schema import schema_of

MAX_ITEMS = 3
YEAR_2100_MS = 4_102_444_800_000

_WIDE = {
    Primitive.INT8: st.integers(-(2**7), 2**7 - 1),
    Primitive.INT16: st.integers(-(2**15), 2**15 - 1),
    Primitive.UINT16: st.integers(0, 2**16 - 1),
    Primitive.INT32: st.integers(-(2**31), 2**31 - 1),
    Primitive.INT64: st.integers(-(2**63), 2**63 - 1),
    Primitive.FLOAT64: st.floats(allow_nan=False, allow_infinity=False),
    Primitive.BOOLEAN: st.booleans(),
    Primitive.UUID: st.uuids(allow_nil=True),
    Primitive.STRING: st.text(max_size=20) | st.just("x" * 127) | st.just("é" * 100),
    Primitive.BYTES: st.binary(max_size=20) | st.just(b"y" * 200),
    Primitive.RECORDS: st.binary(max_size=300),
}


def messages() -> Iterator[tuple[ApiSpec, type[Any], int]]:
    """Every API, each of its two message classes, each version."""
    for spec in API.values():
        for version in range(spec.min_version, spec.max_version + 1):
            yield spec, spec.request, version
            yield spec, spec.response, version


def message_id(value: object) -> str:
    """How a message class of ours, or a version, shows in the name of a test."""
    if isinstance(value, int):
        return f"v{value}"
    return value.__name__ if isinstance(value, type) and hasattr(value, "__schema__") else "theirs"


def values(cls: type[Any], version: int, *, plain: bool = False) -> st.SearchStrategy[Any]:
    """Messages of one version: every field that it has varies, the others keep their defaults.

    `plain` keeps to values that readers with types of their own accept: known error codes, times in this century.
    """
    present = {
        field.name: _field_values(field, version, plain) for field in schema_of(cls).fields if version in field.versions
    }
    return st.builds(cls, **present)


def _field_values(field: Field, version: int, plain: bool) -> st.SearchStrategy[Any]:
    strategy = _item_values(field, version, plain)
    if field.kind is Primitive.ARRAY:
        strategy = st.lists(strategy, max_size=MAX_ITEMS).map(tuple)
    if field.is_nullable(version):
        strategy |= st.none()
    return strategy if field.tag is None else strategy | st.just(field.default)


def _item_values(field: Field, version: int, plain: bool) -> st.SearchStrategy[Any]:
    if field.element is not None:
        return values(field.element, version, plain=plain)
    kind = field.item or field.kind
    if plain and kind is Primitive.INT16 and field.name.endswith("error_code"):
        return st.sampled_from([int(code) for code in ErrorCode])
    if plain and kind in (Primitive.INT32, Primitive.INT64) and ("_ms" in field.name or "timestamp" in field.name):
        return st.integers(0, YEAR_2100_MS if kind is Primitive.INT64 else 2**31 - 1) | st.just(0)
    return _WIDE[kind]
