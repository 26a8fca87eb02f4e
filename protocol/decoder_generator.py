"""Generates the Python function that decodes one version of a message from bytes.

The function is straight-line Python with one loop per array. Neighbouring fields of fixed width, and the length in
front of the field behind them, are read by one `struct.Struct`. A length is compared with the bytes left before
anything is sliced, a count with how many of the smallest items they can hold.
To see the text: `decoder_source(cls, version, flexible)`.
"""

import struct
from typing import Any, Final, Protocol

from .code_buffer import CodeBuffer
from .errors import MalformedFrame, TooManyItems
from .field_declarations import Field
from .primitives import (
    MAX_ITEMS,
    MAX_STRING_BYTES,
    MAX_TAGGED_FIELDS,
    Primitive,
    read_uuid,
    read_uvarint,
    skip_tagged_fields,
    struct_of_many,
    too_many_tags,
)


class Decode(Protocol):
    """Reads one version of a message, of which all arrays together have `most_items` at most.

    Raises: MalformedFrame, TooManyItems.
    """

    def __call__(self, data: memoryview, most_items: int = ..., /) -> Any: ...


def _null_error(what: str) -> MalformedFrame:
    return MalformedFrame(f"{what} is null and must not be")


def _too_long(what: str, length: int, left: int) -> MalformedFrame:
    found = f"{left} bytes left" if length > left else f"{MAX_STRING_BYTES} bytes at most in a text"
    return MalformedFrame(f"{what}: a length of {length} with {found}")


def _too_many(what: str, most_items: int) -> TooManyItems:
    return TooManyItems(f"{what}: more than {most_items} items in one message")


def _bad_size(what: str) -> MalformedFrame:
    return MalformedFrame(f"{what}: the tagged field does not end where its size says")


def _unreadable(what: str, size: int, error: Exception) -> MalformedFrame:
    return MalformedFrame(f"{what}: {size} bytes cannot be read: {error}")


_SCOPE: Final = {
    "bad_size": _bad_size,
    "null": _null_error,
    "read_uuid": read_uuid,
    "read_uvarint": read_uvarint,
    "skip_tagged_fields": skip_tagged_fields,
    "too_long": _too_long,
    "too_many": _too_many,
    "too_many_tags": too_many_tags,
    "unreadable": _unreadable,
    "MalformedFrame": MalformedFrame,
    "UNREADABLE": (struct.error, IndexError, UnicodeDecodeError),
}


def compile_decoder(cls: type, version: int, flexible: bool) -> Decode:
    """The function that reads `cls` at `version`."""
    return _DecoderWriter(cls, version, flexible).write().compile("decode", f"decode {cls.__name__} v{version}")


def decoder_source(cls: type, version: int, flexible: bool) -> str:
    """The text of that function, to look at."""
    return str(_DecoderWriter(cls, version, flexible).write())


def least_size(cls: Any, version: int, flexible: bool) -> int:
    """The fewest bytes that a struct takes on the wire."""
    total = int(flexible)
    for field in cls.__schema__.fields:
        if version in field.versions and field.tag is None:
            total += _least_size_of_field(field, version, flexible)
    return total


def _least_size_of_field(field: Field, version: int, flexible: bool) -> int:
    if field.kind is Primitive.STRUCT:
        return 1 if field.is_nullable(version) else least_size(field.element, version, flexible)
    return _least_size_of_kind(field.kind, flexible)


def _least_size_of_kind(kind: Primitive, flexible: bool) -> int:
    if kind.code:
        return kind.width
    if flexible:
        return 1
    return 2 if kind is Primitive.STRING else 4


class _DecoderWriter:
    """In the text `p` is the position in `data`, `end` its length, `room` how many items may still come.

    `run` holds fixed-width reads that are still to be written.
    """

    def __init__(self, cls: type, version: int, flexible: bool) -> None:
        self.cls = cls
        self.version = version
        self.flexible = flexible
        self.source = CodeBuffer(_SCOPE)
        self.run: list[tuple[str, str]] = []
        self.title = f"{cls.__name__} v{version}"

    def write(self) -> CodeBuffer:
        source = self.source
        with source.block(f"def decode(data, most_items={MAX_ITEMS}):"):
            source.line("p = 0")
            source.line("end = len(data)")
            source.line("room = most_items")
            with source.block("try:"):
                value = self.struct(self.cls, self.title)
                source.line(f"return {value}")
            with source.block("except UNREADABLE as error:"):
                source.line(f"raise unreadable({self.title!r}, end, error) from error")
        return source

    def struct(self, cls: Any, where: str) -> str:
        """Writes the reading of a struct; the local that will hold it."""
        schema = cls.__schema__
        values: dict[str, str] = {}
        for field in schema.fields:
            if version_lacks(field, self.version) or field.tag is not None:
                values[field.name] = self.source.constant(field.name, field.default)
            else:
                values[field.name] = self.field(field, f"{where} {field.name}")
        if self.flexible:
            tagged = [field for field in schema.fields if field.tag is not None and self.version in field.versions]
            self.section_of_tags(tagged, values, where)
        self.flush()
        return self.build(cls, values)

    def build(self, cls: Any, values: dict[str, str]) -> str:
        source = self.source
        value = source.new("o")
        source.line(f"{value} = {source.constant('twin', cls.__schema__.twin)}()")
        for name, local in values.items():
            source.line(f"{value}.{name} = {local}")
        source.line(f"{value}.__class__ = {source.constant('value', cls)}")
        return value

    def field(self, field: Field, where: str) -> str:
        nullable = field.is_nullable(self.version)
        if field.kind is Primitive.ARRAY:
            return self.array(field, nullable, where)
        if field.kind is Primitive.STRUCT:
            return self.optional_struct(field, nullable, where)
        return self.plain(field.kind, nullable, where)

    def plain(self, kind: Primitive, nullable: bool, where: str) -> str:
        if not kind.code:
            return self.string_or_bytes(kind, nullable, where)
        local = self.source.new("v")
        self.run.append((kind.code, local))
        if kind is Primitive.UUID:
            return f"read_uuid({local})"
        return local

    def flush(self) -> None:
        """Writes one read for the run so far."""
        if not self.run:
            return
        codes = "".join(code for code, _ in self.run)
        if codes == "B":
            self.source.line(f"{self.run[0][1]} = data[p]")
            self.source.line("p += 1")
        else:
            layout = struct.Struct(">" + codes)
            unpack = self.source.constant("unpack", layout.unpack_from)
            targets = "".join(f"{local}, " for _, local in self.run)
            self.source.line(f"{targets.rstrip()} = {unpack}(data, p)")
            self.source.line(f"p += {layout.size}")
        self.run.clear()

    def length(self, code: str) -> str:
        """Writes the reading of a length, with what stands before it; the local holds -1 (or less) for null."""
        source = self.source
        length = source.new("n")
        self.run.append(("B" if self.flexible else code, length))
        self.flush()
        if self.flexible:
            with source.block(f"if {length} > 127:"):
                source.line(f"{length}, p = read_uvarint(data, p - 1)")
            source.line(f"{length} -= 1")
        return length

    def string_or_bytes(self, kind: Primitive, nullable: bool, where: str) -> str:
        source = self.source
        local = source.new("v")
        length = self.length("h" if kind is Primitive.STRING else "i")
        with source.block(f"if {length} < 0:"):
            source.line(f"{local} = None" if nullable else f"raise null({where!r})")
        most = "end - p"
        if kind is Primitive.STRING and self.flexible:  # others have a length of 16 bits
            most = f"{MAX_STRING_BYTES} or {length} > end - p"
        with source.block(f"elif {length} > {most}:"):
            source.line(f"raise too_long({where!r}, {length}, end - p)")
        with source.block("else:"):
            take = {Primitive.STRING: ".tobytes().decode()", Primitive.BYTES: ".tobytes()", Primitive.RECORDS: ""}[kind]
            source.line(f"{local} = data[p:p + {length}]{take}")
            source.line(f"p += {length}")
        return local

    def array(self, field: Field, nullable: bool, where: str) -> str:
        source = self.source
        local = source.new("v")
        count = self.length("i")
        least = self.least_item(field)
        with source.block(f"if {count} < 0:"):
            source.line(f"{local} = None" if nullable else f"raise null({where!r})")
        with source.block(f"elif {count} * {least} > end - p:"):
            source.line(f"raise too_long({where!r}, {count}, end - p)")
        with source.block("else:"):
            source.line(f"room -= {count}")
            with source.block("if room < 0:"):
                source.line(f"raise too_many({where!r}, most_items)")
            self.items(field, local, count, where)
        return local

    def least_item(self, field: Field) -> int:
        if field.item is Primitive.STRUCT:
            return least_size(field.element, self.version, self.flexible)
        assert field.item is not None
        return _least_size_of_kind(field.item, self.flexible)

    def items(self, field: Field, local: str, count: str, where: str) -> None:
        source, item = self.source, field.item
        assert item is not None
        if item.code and item is not Primitive.UUID:
            layout = source.constant("layout", struct_of_many(item.code))
            source.line(f"{local} = {layout}({count}).unpack_from(data, p)")
            source.line(f"p += {count} * {item.width}")
            return
        found = source.new("items")
        source.line(f"{found} = []")
        with source.block(f"for _ in range({count}):"):
            if item is Primitive.STRUCT:
                value = self.struct(field.element, where)
            else:
                value = self.plain(item, False, where)
                self.flush()
            source.line(f"{found}.append({value})")
        source.line(f"{local} = tuple({found})")

    def optional_struct(self, field: Field, nullable: bool, where: str) -> str:
        if not nullable:
            return self.struct(field.element, where)
        source = self.source
        presence, local = source.new("n"), source.new("v")
        self.run.append(("b", presence))
        self.flush()
        with source.block(f"if {presence} < 0:"):
            source.line(f"{local} = None")
        with source.block("else:"):
            source.line(f"{local} = {self.struct(field.element, where)}")
        return local

    def section_of_tags(self, fields: list[Field], values: dict[str, str], where: str) -> None:
        source = self.source
        count = source.new("t")
        self.run.append(("B", count))
        self.flush()
        if not fields:
            with source.block(f"if {count}:"):
                source.line("p = skip_tagged_fields(data, p - 1)")
            return
        for field in fields:
            default = values[field.name]
            values[field.name] = local = source.new("v")
            source.line(f"{local} = {default}")
        with source.block(f"if {count}:"):
            source.line(f"{count}, p = read_uvarint(data, p - 1)")
            with source.block(f"if {count} > {MAX_TAGGED_FIELDS}:"):
                source.line(f"raise too_many_tags({count})")
            with source.block(f"for _ in range({count}):"):
                self.field_of_tag(fields, values, where)

    def field_of_tag(self, fields: list[Field], values: dict[str, str], where: str) -> None:
        source = self.source
        tag, size, stop = source.new("tag"), source.new("n"), source.new("stop")
        source.line(f"{tag}, p = read_uvarint(data, p)")
        source.line(f"{size}, p = read_uvarint(data, p)")
        source.line(f"{stop} = p + {size}")
        with source.block(f"if {stop} > end:"):
            source.line(f"raise too_long({where!r}, {size}, end - p)")
        for field in fields:
            with source.block(f"if {tag} == {field.tag}:"):
                value = self.field(field, f"{where} {field.name}")
                self.flush()
                source.line(f"{values[field.name]} = {value}")
                with source.block(f"if p != {stop}:"):
                    source.line(f"raise bad_size({where + ' ' + field.name!r})")
        source.line(f"p = {stop}")


def version_lacks(field: Field, version: int) -> bool:
    return version not in field.versions
