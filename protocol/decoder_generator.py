"""Generates the Python function that decodes one version of a message from bytes.

The function is straight-line Python with one loop per array. One `struct.Struct` reads
neighbouring fixed-width fields together with the length of the next variable field. A length is compared with the
bytes left before anything is sliced, a count with how many of the smallest items they can hold.
To see the source: `decoder_source(cls, version, flexible)`.
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
    make_too_many_tags_error,
    read_uuid,
    read_uvarint,
    skip_tagged_fields,
    struct_by_count,
)


class Decode(Protocol):
    """Reads one version of a message, of which all arrays together have `most_items` at most.

    Raises: MalformedFrame, TooManyItems.
    """

    def __call__(self, data: memoryview, most_items: int = ..., /) -> Any: ...


def _make_null_error(what: str) -> MalformedFrame:
    return MalformedFrame(f"{what} is null and must not be")


def _make_too_long_error(what: str, length: int, left: int) -> MalformedFrame:
    found = f"{left} bytes left" if length > left else f"{MAX_STRING_BYTES} bytes at most in a text"
    return MalformedFrame(f"{what}: a length of {length} with {found}")


def _make_too_many_error(what: str, most_items: int) -> TooManyItems:
    return TooManyItems(f"{what}: more than {most_items} items in one message")


def _make_bad_size_error(what: str) -> MalformedFrame:
    return MalformedFrame(f"{what}: the tagged field does not end where its size says")


def _make_unreadable_error(what: str, size: int, error: Exception) -> MalformedFrame:
    return MalformedFrame(f"{what}: {size} bytes cannot be read: {error}")


_SCOPE: Final = {
    "bad_size": _make_bad_size_error,
    "null": _make_null_error,
    "read_uuid": read_uuid,
    "read_uvarint": read_uvarint,
    "skip_tagged_fields": skip_tagged_fields,
    "too_long": _make_too_long_error,
    "too_many": _make_too_many_error,
    "make_too_many_tags_error": make_too_many_tags_error,
    "unreadable": _make_unreadable_error,
    "MalformedFrame": MalformedFrame,
    "UNREADABLE": (struct.error, IndexError, UnicodeDecodeError),
}


def compile_decoder(cls: type, version: int, flexible: bool) -> Decode:
    """The function that reads `cls` at `version`."""
    return (
        _DecoderWriter(cls, version, flexible).write_function().compile("decode", f"decode {cls.__name__} v{version}")
    )


def decoder_source(cls: type, version: int, flexible: bool) -> str:
    """The text of that function, to look at."""
    return str(_DecoderWriter(cls, version, flexible).write_function())


def least_encoded_size(cls: Any, version: int, flexible: bool) -> int:
    """The fewest bytes that a struct takes on the wire."""
    total = int(flexible)
    for field in cls.__schema__.fields:
        if version in field.versions and field.tag is None:
            total += _least_size_of_field(field, version, flexible)
    return total


def _least_size_of_field(field: Field, version: int, flexible: bool) -> int:
    if field.kind is Primitive.STRUCT:
        return 1 if field.is_nullable(version) else least_encoded_size(field.element, version, flexible)
    return _least_size_of_kind(field.kind, flexible)


def _least_size_of_kind(kind: Primitive, flexible: bool) -> int:
    if kind.code:
        return kind.width
    if flexible:
        return 1
    return 2 if kind is Primitive.STRING else 4


class _DecoderWriter:
    """In the generated source `p` is the position in `data`, `end` its length, `room` how many items may still come.

    `run` holds fixed-width reads that are still to be written.
    """

    def __init__(self, cls: type, version: int, flexible: bool) -> None:
        self.cls = cls
        self.version = version
        self.flexible = flexible
        self.source = CodeBuffer(_SCOPE)
        self.run: list[tuple[str, str]] = []
        self.title = f"{cls.__name__} v{version}"

    def write_function(self) -> CodeBuffer:
        source = self.source
        with source.indent_block(f"def decode(data, most_items={MAX_ITEMS}):"):
            source.add_line("p = 0")
            source.add_line("end = len(data)")
            source.add_line("room = most_items")
            with source.indent_block("try:"):
                value = self.write_struct(self.cls, self.title)
                source.add_line(f"return {value}")
            with source.indent_block("except UNREADABLE as error:"):
                source.add_line(f"raise unreadable({self.title!r}, end, error) from error")
        return source

    def write_struct(self, cls: Any, field_path: str) -> str:
        """Writes the reading of a struct; the local that will hold it."""
        schema = cls.__schema__
        values: dict[str, str] = {}
        for field in schema.fields:
            if is_absent_in(field, self.version) or field.tag is not None:
                values[field.name] = self.source.global_for(field.name, field.default)
            else:
                values[field.name] = self.write_field(field, f"{field_path} {field.name}")
        if self.flexible:
            tagged = [field for field in schema.fields if field.tag is not None and self.version in field.versions]
            self.write_tagged_fields(tagged, values, field_path)
        self.write_pending_run()
        return self.write_construction(cls, values)

    def write_construction(self, cls: Any, values: dict[str, str]) -> str:
        source = self.source
        value = source.new_local("o")
        source.add_line(f"{value} = {source.global_for('twin', cls.__schema__.twin)}()")
        for name, local in values.items():
            source.add_line(f"{value}.{name} = {local}")
        source.add_line(f"{value}.__class__ = {source.global_for('value', cls)}")
        return value

    def write_field(self, field: Field, field_path: str) -> str:
        nullable = field.is_nullable(self.version)
        if field.kind is Primitive.ARRAY:
            return self.write_array(field, nullable, field_path)
        if field.kind is Primitive.STRUCT:
            return self.write_optional_struct(field, nullable, field_path)
        return self.write_primitive(field.kind, nullable, field_path)

    def write_primitive(self, kind: Primitive, nullable: bool, field_path: str) -> str:
        """Writes the read of a value, or notes it for `write_pending_run`; returns the expression for the value.

        `field_path`, here and below, is what errors call the field.
        """
        if not kind.code:
            return self.write_string_or_bytes(kind, nullable, field_path)
        local = self.source.new_local("v")
        self.run.append((kind.code, local))
        if kind is Primitive.UUID:
            return f"read_uuid({local})"
        return local

    def write_pending_run(self) -> None:
        """Writes one read for the run so far."""
        if not self.run:
            return
        codes = "".join(code for code, _ in self.run)
        if codes == "B":
            self.source.add_line(f"{self.run[0][1]} = data[p]")
            self.source.add_line("p += 1")
        else:
            layout = struct.Struct(">" + codes)
            unpack = self.source.global_for("unpack", layout.unpack_from)
            targets = "".join(f"{local}, " for _, local in self.run)
            self.source.add_line(f"{targets.rstrip()} = {unpack}(data, p)")
            self.source.add_line(f"p += {layout.size}")
        self.run.clear()

    def write_length(self, code: str) -> str:
        """Writes the pending reads, then that of a length; returns the local with it, negative for null."""
        source = self.source
        length = source.new_local("n")
        self.run.append(("B" if self.flexible else code, length))
        self.write_pending_run()
        if self.flexible:
            with source.indent_block(f"if {length} > 127:"):
                source.add_line(f"{length}, p = read_uvarint(data, p - 1)")
            source.add_line(f"{length} -= 1")
        return length

    def write_string_or_bytes(self, kind: Primitive, nullable: bool, field_path: str) -> str:
        source = self.source
        local = source.new_local("v")
        length = self.write_length("h" if kind is Primitive.STRING else "i")
        with source.indent_block(f"if {length} < 0:"):
            source.add_line(f"{local} = None" if nullable else f"raise null({field_path!r})")
        most = "end - p"
        if kind is Primitive.STRING and self.flexible:  # others have a length of 16 bits
            most = f"{MAX_STRING_BYTES} or {length} > end - p"
        with source.indent_block(f"elif {length} > {most}:"):
            source.add_line(f"raise too_long({field_path!r}, {length}, end - p)")
        with source.indent_block("else:"):
            take = {Primitive.STRING: ".tobytes().decode()", Primitive.BYTES: ".tobytes()", Primitive.RECORDS: ""}[kind]
            source.add_line(f"{local} = data[p:p + {length}]{take}")
            source.add_line(f"p += {length}")
        return local

    def write_array(self, field: Field, nullable: bool, field_path: str) -> str:
        source = self.source
        local = source.new_local("v")
        count = self.write_length("i")
        least = self.least_item_size(field)
        with source.indent_block(f"if {count} < 0:"):
            source.add_line(f"{local} = None" if nullable else f"raise null({field_path!r})")
        with source.indent_block(f"elif {count} * {least} > end - p:"):
            source.add_line(f"raise too_long({field_path!r}, {count}, end - p)")
        with source.indent_block("else:"):
            source.add_line(f"room -= {count}")
            with source.indent_block("if room < 0:"):
                source.add_line(f"raise too_many({field_path!r}, most_items)")
            self.write_items(field, local, count, field_path)
        return local

    def least_item_size(self, field: Field) -> int:
        if field.item is Primitive.STRUCT:
            return least_encoded_size(field.element, self.version, self.flexible)
        assert field.item is not None
        return _least_size_of_kind(field.item, self.flexible)

    def write_items(self, field: Field, local: str, count: str, field_path: str) -> None:
        source, item = self.source, field.item
        assert item is not None
        if item.code and item is not Primitive.UUID:
            layout = source.global_for("layout", struct_by_count(item.code))
            source.add_line(f"{local} = {layout}({count}).unpack_from(data, p)")
            source.add_line(f"p += {count} * {item.width}")
            return
        found = source.new_local("items")
        source.add_line(f"{found} = []")
        with source.indent_block(f"for _ in range({count}):"):
            if item is Primitive.STRUCT:
                value = self.write_struct(field.element, field_path)
            else:
                value = self.write_primitive(item, False, field_path)
                self.write_pending_run()
            source.add_line(f"{found}.append({value})")
        source.add_line(f"{local} = tuple({found})")

    def write_optional_struct(self, field: Field, nullable: bool, field_path: str) -> str:
        if not nullable:
            return self.write_struct(field.element, field_path)
        source = self.source
        presence, local = source.new_local("n"), source.new_local("v")
        self.run.append(("b", presence))
        self.write_pending_run()
        with source.indent_block(f"if {presence} < 0:"):
            source.add_line(f"{local} = None")
        with source.indent_block("else:"):
            source.add_line(f"{local} = {self.write_struct(field.element, field_path)}")
        return local

    def write_tagged_fields(self, fields: list[Field], values: dict[str, str], field_path: str) -> None:
        source = self.source
        count = source.new_local("t")
        self.run.append(("B", count))
        self.write_pending_run()
        if not fields:
            with source.indent_block(f"if {count}:"):
                source.add_line("p = skip_tagged_fields(data, p - 1)")
            return
        for field in fields:
            default = values[field.name]
            values[field.name] = local = source.new_local("v")
            source.add_line(f"{local} = {default}")
        with source.indent_block(f"if {count}:"):
            source.add_line(f"{count}, p = read_uvarint(data, p - 1)")
            with source.indent_block(f"if {count} > {MAX_TAGGED_FIELDS}:"):
                source.add_line(f"raise make_too_many_tags_error({count})")
            with source.indent_block(f"for _ in range({count}):"):
                self.write_tagged_field(fields, values, field_path)

    def write_tagged_field(self, fields: list[Field], values: dict[str, str], field_path: str) -> None:
        source = self.source
        tag, size, stop = source.new_local("tag"), source.new_local("n"), source.new_local("stop")
        source.add_line(f"{tag}, p = read_uvarint(data, p)")
        source.add_line(f"{size}, p = read_uvarint(data, p)")
        source.add_line(f"{stop} = p + {size}")
        with source.indent_block(f"if {stop} > end:"):
            source.add_line(f"raise too_long({field_path!r}, {size}, end - p)")
        for field in fields:
            with source.indent_block(f"if {tag} == {field.tag}:"):
                value = self.write_field(field, f"{field_path} {field.name}")
                self.write_pending_run()
                source.add_line(f"{values[field.name]} = {value}")
                with source.indent_block(f"if p != {stop}:"):
                    source.add_line(f"raise bad_size({field_path + ' ' + field.name!r})")
        source.add_line(f"p = {stop}")


def is_absent_in(field: Field, version: int) -> bool:
    return version not in field.versions
