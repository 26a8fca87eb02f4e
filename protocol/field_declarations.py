"""How a field of a message is declared: its wire type, the versions that carry it, its default.

    topics: Sequence[FetchTopic] = array(FetchTopic)                # every version
    rack_id: str = string("11+", ignorable=True)                    # from version 11
    cluster_id: str | None = string("12+", nullable="12+", default=None, tag=0)

`versions` and `nullable` are ranges: "3+", "0-14" (both ends included) or "7". A tagged field is tagged in all its
versions. A field that a version lacks reads as its default; writing another value there is an error unless the field
is `ignorable`. The functions say they return `Any`, so that a type checker takes their result for the field's default.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from .primitives import NO_UUID, Primitive


@dataclass(frozen=True, slots=True)
class Versions:
    """A range of versions, both ends included; `last` None is open. Nothing is in an empty range."""

    first: int
    last: int | None

    @classmethod
    def of(cls, text: str) -> "Versions":
        match = re.fullmatch(r"(\d+)(?:(\+)|-(\d+))?", text)
        if match is None:
            raise ValueError(f"{text!r} is no version range: write 3+, 0-14 or 7")
        first, is_open, last = match.groups()
        return cls(int(first), None if is_open else int(last or first))

    def __contains__(self, version: int) -> bool:
        return self.first <= version and (self.last is None or version <= self.last)

    def __str__(self) -> str:
        return f"{self.first}+" if self.last is None else f"{self.first}-{self.last}"


NEVER: Final = Versions(1, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One declared field. `element` is the class of a struct or of an array's structs, `item` the kind of its items."""

    kind: Primitive
    versions: Versions
    nullable: Versions
    default: Any
    tag: int | None
    ignorable: bool
    element: type | None = None
    item: Primitive | None = None
    name: str = ""

    def is_nullable(self, version: int) -> bool:
        return version in self.nullable


def _make_field_function(kind: Primitive, zero: Any) -> Callable[..., Any]:
    def specify(
        versions: str = "0+",
        *,
        default: Any = zero,
        nullable: str | None = None,
        tag: int | None = None,
        ignorable: bool = False,
    ) -> Any:
        return Field(
            kind=kind,
            versions=Versions.of(versions),
            nullable=Versions.of(nullable) if nullable else NEVER,
            default=default,
            tag=tag,
            ignorable=ignorable,
        )

    specify.__name__ = specify.__qualname__ = kind.value
    specify.__doc__ = f"A field of wire type {kind.value}."
    return specify


int8 = _make_field_function(Primitive.INT8, 0)
int16 = _make_field_function(Primitive.INT16, 0)
uint16 = _make_field_function(Primitive.UINT16, 0)
int32 = _make_field_function(Primitive.INT32, 0)
int64 = _make_field_function(Primitive.INT64, 0)
float64 = _make_field_function(Primitive.FLOAT64, 0.0)
boolean = _make_field_function(Primitive.BOOLEAN, False)
uuid = _make_field_function(Primitive.UUID, NO_UUID)
string = _make_field_function(Primitive.STRING, "")
binary = _make_field_function(Primitive.BYTES, b"")
record_set = _make_field_function(Primitive.RECORDS, None)

_KIND_OF: Final = {
    int8: Primitive.INT8,
    int16: Primitive.INT16,
    uint16: Primitive.UINT16,
    int32: Primitive.INT32,
    int64: Primitive.INT64,
    float64: Primitive.FLOAT64,
    boolean: Primitive.BOOLEAN,
    uuid: Primitive.UUID,
    string: Primitive.STRING,
    binary: Primitive.BYTES,
}


def array(
    of: Any,
    versions: str = "0+",
    *,
    default: Sequence[Any] | None = (),
    nullable: str | None = None,
    tag: int | None = None,
    ignorable: bool = False,
) -> Any:
    """An array of structs, `array(FetchTopic)`, or `array(int32)`. Read as a tuple, written from any sequence."""
    is_plain = of in _KIND_OF
    return Field(
        kind=Primitive.ARRAY,
        versions=Versions.of(versions),
        nullable=Versions.of(nullable) if nullable else NEVER,
        default=default,
        tag=tag,
        ignorable=ignorable,
        element=None if is_plain else of,
        item=_KIND_OF[of] if is_plain else Primitive.STRUCT,
    )


def structure(
    of: type,
    versions: str = "0+",
    *,
    nullable: str | None = None,
    tag: int | None = None,
    ignorable: bool = False,
) -> Any:
    """A field that is a struct of its own. Its default is null if it may be null, else the struct of all defaults."""
    return Field(
        kind=Primitive.STRUCT,
        versions=Versions.of(versions),
        nullable=Versions.of(nullable) if nullable else NEVER,
        default=None if nullable else of(),
        tag=tag,
        ignorable=ignorable,
        element=of,
    )
