"""A message is one declaration of fields with version ranges, compiled to two functions per version, on first use.

    @struct
    class ForgottenTopic:
        topic: str = string("7-12", ignorable=True)
        topic_id: UUID = uuid("13+", ignorable=True)
        partitions: Sequence[int] = array(int32, "7+")

    @message(versions="0-17", flexible="12+")
    class FetchRequest: ...

Both decorators make a frozen, slotted, keyword-only dataclass in which every field has Kafka's default. An object of
the class is built through its twin, an open class of the same layout, and then given its real class: storing to slots
and changing the class once costs half or less of what `object.__setattr__` per field does.
`decoder_generator.py` and `encoder_generator.py` write the functions.
"""

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

from .decoder_generator import Decode, compile_decoder
from .encoder_generator import Encode, compile_encoder
from .errors import MalformedFrame
from .field_declarations import (
    NEVER,
    Field,
    Versions,
    array,
    binary,
    boolean,
    float64,
    int8,
    int16,
    int32,
    int64,
    record_set,
    string,
    structure,
    uint16,
    uuid,
)
from .primitives import NO_UUID, Buffer, Piece, SizedPiece, size_of

__all__ = [
    "NO_UUID",
    "Buffer",
    "Piece",
    "Schema",
    "SizedPiece",
    "array",
    "binary",
    "boolean",
    "decode",
    "decoder_of",
    "encode",
    "encoder_of",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "message",
    "record_set",
    "schema_of",
    "size_of",
    "string",
    "struct",
    "structure",
    "uint16",
    "uuid",
]

T = TypeVar("T")


class Schema:
    """What is known of a struct or message class: its fields, its versions if it is a message, its compiled codecs."""

    __slots__ = ("decoders", "encoders", "fields", "flexible", "name", "twin", "versions")

    def __init__(self, name: str, fields: tuple[Field, ...], twin: type) -> None:
        self.name = name
        self.fields = fields
        self.twin = twin
        self.versions: Versions | None = None
        self.flexible = NEVER
        self.decoders: dict[int, Decode] = {}
        self.encoders: dict[int, Encode] = {}


def schema_of(cls: type) -> Schema:
    """The schema of a class made by `struct` or `message`."""
    schema: Schema = cls.__schema__  # type: ignore[attr-defined]
    return schema


@dataclass_transform(frozen_default=True, kw_only_default=True)
def struct(cls: type[T]) -> type[T]:
    """`cls` as a frozen value whose fields are those declared in it."""
    declared = [(name, vars(cls)[name]) for name in cls.__annotations__]
    for name, field in declared:
        setattr(cls, name, field.default)
    names = tuple(name for name, _ in declared)
    value_class = dataclasses.dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False, eq=False)(cls)
    twin = type(cls.__name__, (), {"__slots__": names})
    fields = tuple(dataclasses.replace(field, name=name) for name, field in declared)
    _add_methods(value_class, names, Schema(cls.__name__, fields, twin))
    return value_class


@dataclass_transform(frozen_default=True, kw_only_default=True)
def message(*, versions: str, flexible: str | None = None) -> Callable[[type[T]], type[T]]:
    """As `struct`, for what has versions of its own; those in `flexible` use the compact types and tagged fields."""

    def declare(cls: type[T]) -> type[T]:
        value_class = struct(cls)
        schema = schema_of(value_class)
        schema.versions = Versions.of(versions)
        schema.flexible = Versions.of(flexible) if flexible else NEVER
        return value_class

    return declare


def fast_constructor(cls: type[T]) -> type[T]:
    """A function that makes values of `cls` when it is called as the class is: in a third of the time, for what is made
    for each partition of each request."""
    schema = schema_of(cls)
    make: type[T] = _make_constructor(cls, tuple(field.name for field in schema.fields), schema)
    return make


def decode(cls: type[T], version: int, data: memoryview) -> T:
    """The message at the start of `data`; what follows it is ignored. Record sets are views of `data`, the rest copies.

    Raises: MalformedFrame when `data` cannot be read, or the message has no such version.
    """
    value: T = decoder_of(cls, version)(data)
    return value


def decoder_of(cls: type, version: int) -> Decode:
    """The function that reads that message at that version, as `decode` does.

    Raises: MalformedFrame when the message has no such version.
    """
    decoder = schema_of(cls).decoders.get(version)
    if decoder is None:
        decoder = _compile_version(cls, version, compile_decoder, schema_of(cls).decoders, MalformedFrame)
    return decoder


def encode(value: object, version: int, head: bytearray | None = None) -> list[Piece]:
    """What goes on the wire, in order: bytes, and each record set as it stands. `head`: bytes to append to.

    Raises: ValueError when a value does not fit its field, or this version lacks a field that must not be lost.
    """
    return encoder_of(type(value), version)(value, bytearray() if head is None else head)


def encoder_of(cls: type, version: int) -> Encode:
    """The function that writes that message at that version, as `encode` does.

    Raises: ValueError when the message has no such version.
    """
    encoder = schema_of(cls).encoders.get(version)
    if encoder is None:
        encoder = _compile_version(cls, version, compile_encoder, schema_of(cls).encoders, ValueError)
    return encoder


def _compile_version(
    cls: type, version: int, compiler: Callable[..., Any], codecs: dict[int, Any], error: type[Exception]
) -> Any:
    schema = schema_of(cls)
    if schema.versions is None:
        raise TypeError(f"{schema.name} is part of a message, not one")
    if version not in schema.versions:
        raise error(f"{schema.name} has versions {schema.versions}, not {version}")
    codecs[version] = codec = compiler(cls, version, version in schema.flexible)
    return codec


def _add_methods(cls: Any, names: tuple[str, ...], schema: Schema) -> None:
    cls.__schema__ = schema
    cls.__new__ = _make_constructor(cls, names, schema, "cls")
    values = _make_values_getter(names)

    def __eq__(self: Any, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return bool(values(self) == values(other))

    def __hash__(self: Any) -> int:
        return hash(values(self))

    def __repr__(self: Any) -> str:
        shown = (f"{name}={value!r}" for name, value in zip(names, values(self), strict=True))
        return f"{cls.__name__}({', '.join(shown)})"

    cls.__eq__, cls.__hash__, cls.__repr__ = __eq__, __hash__, __repr__


def _make_values_getter(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)


def _make_constructor(cls: type, names: tuple[str, ...], schema: Schema, *first: str) -> Any:
    parameters = ", ".join([*first, *(["*"] if names else []), *(f"{name}=_{name}" for name in names)])
    lines = [
        f"def __new__({parameters}):",
        "    self = Twin()",
        *(f"    self.{name} = {name}" for name in names),
        "    self.__class__ = Value",
        "    return self",
    ]
    scope = {"Twin": schema.twin, "Value": cls} | {f"_{field.name}": field.default for field in schema.fields}
    exec("\n".join(lines), scope)
    return scope["__new__"]
