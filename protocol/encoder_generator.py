"""Writes the function that puts one version of a message on the wire: the value in, a list of pieces out.

Bytes gather in one buffer; a record set ends it, stands in the list as it is, and a new buffer follows. Neighbouring
fields of fixed width, and the length in front of the field behind them, are packed by one `struct.Struct`.
To see the text: `encoder_source(cls, version, flexible)`.
"""

import struct
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from .code_buffer import CodeBuffer
from .field_declarations import Field
from .primitives import BUFFER_TYPES, MAX_STRING_BYTES, Piece, Primitive, struct_of_many, write_uvarint
from .unencodable_field import describe_misfit

Encode: TypeAlias = Callable[[Any, bytearray], list[Piece]]


def _unsendable(where: str, value: object) -> ValueError:
    return ValueError(f"{where}: {value!r} cannot be sent, this version has no such field")


def _misfit(cls: type, version: int, value: object, error: Exception) -> ValueError:
    return ValueError(f"{cls.__name__} v{version}: {describe_misfit(value, version) or error}")


_SCOPE: Final = {
    "BUFFER_TYPES": BUFFER_TYPES,
    "unsendable": _unsendable,
    "misfit": _misfit,
    "write_uvarint": write_uvarint,
    "MISFIT": (struct.error, AttributeError, TypeError, OverflowError, UnicodeEncodeError),
}


def compile_encoder(cls: type, version: int, flexible: bool) -> Encode:
    """The function that writes `cls` at `version`."""
    return _EncoderWriter(cls, version, flexible).write().compile("encode", f"encode {cls.__name__} v{version}")


def encoder_source(cls: type, version: int, flexible: bool) -> str:
    """The text of that function, to look at."""
    return str(_EncoderWriter(cls, version, flexible).write())


class _EncoderWriter:
    """`out` is the buffer being filled. `run` holds fixed-width values that are still to be written to it."""

    def __init__(self, cls: type, version: int, flexible: bool) -> None:
        self.cls = cls
        self.version = version
        self.flexible = flexible
        self.source = CodeBuffer(_SCOPE)
        self.run: list[tuple[str, str]] = []
        self.out = "out"

    def write(self) -> CodeBuffer:
        source = self.source
        with source.block("def encode(value, out):"):
            source.line("pieces = []")
            with source.block("try:"):
                self.struct(self.cls, "value", f"{self.cls.__name__} v{self.version}")
                self.flush()
            with source.block("except MISFIT as error:"):
                source.line(
                    f"raise misfit({source.constant('value', self.cls)}, {self.version}, value, error) from error"
                )
            with source.block("if out:"):
                source.line("pieces.append(out)")
            source.line("return pieces")
        return source

    def struct(self, cls: Any, value: str, where: str) -> None:
        """Writes the fields of `value`; the last of them may still be in the run."""
        fields: tuple[Field, ...] = cls.__schema__.fields
        present = [field for field in fields if self.version in field.versions]
        for field in fields:
            if field not in present and not field.ignorable:
                self.absent(field, value, where)
        for field in present:
            if field.tag is None:
                self.field(field, f"{value}.{field.name}", f"{where} {field.name}")
        if self.flexible:
            tagged = [field for field in present if field.tag is not None]
            self.section_of_tags(sorted(tagged, key=lambda field: field.tag or 0), value, where)

    def absent(self, field: Field, value: str, where: str) -> None:
        item = f"{value}.{field.name}"
        with self.source.block(f"if not ({self.is_default(field, item)}):"):
            self.source.line(f"raise unsendable({where + ' ' + field.name!r}, {item})")

    def is_default(self, field: Field, value: str) -> str:
        default = self.source.constant(field.name, field.default)
        if field.default is None:
            return f"{value} is None"
        if field.kind is Primitive.ARRAY:
            return f"{value} is not None and not len({value})"
        if field.kind is Primitive.STRUCT:
            return f"{value} is {default} or {value} == {default}"
        return f"{value} == {default}"

    def field(self, field: Field, value: str, where: str) -> None:
        nullable = field.is_nullable(self.version)
        if field.kind is Primitive.ARRAY:
            self.array(field, nullable, value, where)
        elif field.kind is Primitive.STRUCT:
            self.optional_struct(field, nullable, value, where)
        else:
            self.plain(field.kind, nullable, value)

    def plain(self, kind: Primitive, nullable: bool, value: str) -> None:
        if kind is Primitive.UUID:
            self.run.append((kind.code, f"{value}.bytes"))
        elif kind.code:
            self.run.append((kind.code, value))
        elif kind is Primitive.RECORDS:
            self.records(nullable, value)
        else:
            self.string_or_bytes(kind, nullable, value)

    def flush(self) -> None:
        """Writes one pack for the run so far."""
        if not self.run:
            return
        codes = "".join(code for code, _ in self.run)
        if codes == "x":
            self.source.line(f"{self.out}.append(0)")
        else:
            pack = self.source.constant("pack", struct.Struct(">" + codes).pack)
            values = ", ".join(value for code, value in self.run if code != "x")
            self.source.line(f"{self.out} += {pack}({values})")
        self.run.clear()

    def length(self, code: str, length: str) -> None:
        """Writes a length and what stands before it; `length` is a local, -1 for null."""
        if not self.flexible:
            self.run.append((code, length))
            self.flush()
            return
        self.flush()
        source = self.source
        with source.block(f"if {length} < 127:"):
            source.line(f"{self.out}.append({length} + 1)")
        with source.block("else:"):
            source.line(f"{self.out} += write_uvarint({length} + 1)")

    def string_or_bytes(self, kind: Primitive, nullable: bool, value: str) -> None:
        source = self.source
        taken, length = source.new("b"), source.new("n")
        if nullable:
            source.line(f"{taken} = {value}")
            with source.block(f"if {taken} is None:"):
                source.line(f"{taken}, {length} = b'', -1")
            with source.block("else:"):
                self.measure(kind, taken, taken, length)
        else:
            self.measure(kind, value, taken, length)
        self.length("h" if kind is Primitive.STRING else "i", length)
        source.line(f"{self.out} += {taken}")

    def measure(self, kind: Primitive, value: str, taken: str, length: str) -> None:
        source = self.source
        source.line(f"{taken} = {value}.encode()" if kind is Primitive.STRING else f"{taken} = {value}")
        source.line(f"{length} = len({taken})")
        if kind is Primitive.STRING and self.flexible:
            with source.block(f"if {length} > {MAX_STRING_BYTES}:"):
                source.line(f"raise OverflowError('a string of %d bytes' % {length})")

    def records(self, nullable: bool, value: str) -> None:
        source = self.source
        assert self.out == "out", "no record set stands in a tagged field"
        taken, length = source.new("r"), source.new("n")
        source.line(f"{taken} = {value}")
        if nullable:
            with source.block(f"if {taken} is None:"):
                source.line(f"{length} = -1")
            head = "elif"
        else:
            head = "if"
        with source.block(f"{head} {taken}.__class__ in BUFFER_TYPES:"):
            source.line(f"{length} = len({taken})")
        with source.block("else:"):
            source.line(f"{length} = {taken}.size_bytes")
        self.length("i", length)
        with source.block(f"if {length} > 0:"):
            source.line("pieces.append(out)")
            source.line(f"pieces.append({taken})")
            source.line("out = bytearray()")

    def array(self, field: Field, nullable: bool, value: str, where: str) -> None:
        source = self.source
        items, count = source.new("a"), source.new("n")
        source.line(f"{items} = {value}")
        if nullable:
            with source.block(f"if {items} is None:"):
                source.line(f"{items}, {count} = (), -1")
            with source.block("else:"):
                source.line(f"{count} = len({items})")
        else:
            source.line(f"{count} = len({items})")
        self.length("i", count)
        self.items(field, items, count, where)

    def items(self, field: Field, items: str, count: str, where: str) -> None:
        source, kind = self.source, field.item
        assert kind is not None
        if kind.code and kind is not Primitive.UUID:
            layout = source.constant("layout", struct_of_many(kind.code))
            with source.block(f"if {count} > 0:"):
                source.line(f"{self.out} += {layout}({count}).pack(*{items})")
            return
        item = source.new("e")
        with source.block(f"for {item} in {items}:"):
            if kind is Primitive.STRUCT:
                self.struct(field.element, item, where)
            else:
                self.plain(kind, False, item)
            self.flush()

    def optional_struct(self, field: Field, nullable: bool, value: str, where: str) -> None:
        if not nullable:
            self.struct(field.element, value, where)
            return
        source = self.source
        self.flush()
        with source.block(f"if {value} is None:"):
            source.line(f"{self.out}.append(255)")
        with source.block("else:"):
            source.line(f"{self.out}.append(1)")
            self.struct(field.element, value, where)
            self.flush()

    def section_of_tags(self, fields: list[Field], value: str, where: str) -> None:
        if not fields:
            self.run.append(("x", ""))
            return
        source = self.source
        self.flush()
        all_default = " and ".join(f"({self.is_default(field, f'{value}.{field.name}')})" for field in fields)
        with source.block(f"if {all_default}:"):
            source.line(f"{self.out}.append(0)")
        with source.block("else:"):
            self.nonempty_section_of_tags(fields, value, where)

    def nonempty_section_of_tags(self, fields: list[Field], value: str, where: str) -> None:
        source, around = self.source, self.out
        section, count, self.out = source.new("section"), source.new("t"), source.new("body")
        source.line(f"{section}, {count} = bytearray(), 0")
        for field in fields:
            with source.block(f"if not ({self.is_default(field, f'{value}.{field.name}')}):"):
                source.line(f"{count} += 1")
                source.line(f"{self.out} = bytearray()")
                self.field(field, f"{value}.{field.name}", f"{where} {field.name}")
                self.flush()
                source.line(f"{section} += {write_uvarint(field.tag or 0)!r}")
                source.line(f"{section} += write_uvarint(len({self.out}))")
                source.line(f"{section} += {self.out}")
        self.out = around
        source.line(f"{self.out} += write_uvarint({count})")
        source.line(f"{self.out} += {section}")
