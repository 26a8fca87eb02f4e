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
from .primitives import BUFFER_TYPES, MAX_STRING_BYTES, Piece, Primitive, struct_by_count, write_uvarint
from .unencodable_field import describe_misfit

Encode: TypeAlias = Callable[[Any, bytearray], list[Piece]]


def _make_unsendable_error(field_path: str, value: object) -> ValueError:
    return ValueError(f"{field_path}: {value!r} cannot be sent, this version has no such field")


def _make_misfit_error(cls: type, version: int, value: object, error: Exception) -> ValueError:
    return ValueError(f"{cls.__name__} v{version}: {describe_misfit(value, version) or error}")


_SCOPE: Final = {
    "BUFFER_TYPES": BUFFER_TYPES,
    "unsendable": _make_unsendable_error,
    "misfit": _make_misfit_error,
    "write_uvarint": write_uvarint,
    "MISFIT": (struct.error, AttributeError, TypeError, OverflowError, UnicodeEncodeError),
}


def compile_encoder(cls: type, version: int, flexible: bool) -> Encode:
    """The function that writes `cls` at `version`."""
    return (
        _EncoderWriter(cls, version, flexible).write_function().compile("encode", f"encode {cls.__name__} v{version}")
    )


def encoder_source(cls: type, version: int, flexible: bool) -> str:
    """The text of that function, to look at."""
    return str(_EncoderWriter(cls, version, flexible).write_function())


class _EncoderWriter:
    """`out` is the buffer being filled. `run` holds fixed-width values that are still to be written to it."""

    def __init__(self, cls: type, version: int, flexible: bool) -> None:
        self.cls = cls
        self.version = version
        self.flexible = flexible
        self.source = CodeBuffer(_SCOPE)
        self.run: list[tuple[str, str]] = []
        self.out = "out"

    def write_function(self) -> CodeBuffer:
        source = self.source
        with source.indent_block("def encode(value, out):"):
            source.add_line("pieces = []")
            with source.indent_block("try:"):
                self.write_struct(self.cls, "value", f"{self.cls.__name__} v{self.version}")
                self.write_pending_run()
            with source.indent_block("except MISFIT as error:"):
                source.add_line(
                    f"raise misfit({source.global_for('value', self.cls)}, {self.version}, value, error) from error"
                )
            with source.indent_block("if out:"):
                source.add_line("pieces.append(out)")
            source.add_line("return pieces")
        return source

    def write_struct(self, cls: Any, value: str, field_path: str) -> None:
        """Writes the fields of `value`; the last of them may still be in the run."""
        fields: tuple[Field, ...] = cls.__schema__.fields
        present = [field for field in fields if self.version in field.versions]
        for field in fields:
            if field not in present and not field.ignorable:
                self.write_absence_check(field, value, field_path)
        for field in present:
            if field.tag is None:
                self.write_field(field, f"{value}.{field.name}", f"{field_path} {field.name}")
        if self.flexible:
            tagged = [field for field in present if field.tag is not None]
            self.write_tagged_fields(sorted(tagged, key=lambda field: field.tag or 0), value, field_path)

    def write_absence_check(self, field: Field, value: str, field_path: str) -> None:
        item = f"{value}.{field.name}"
        with self.source.indent_block(f"if not ({self.default_condition(field, item)}):"):
            self.source.add_line(f"raise unsendable({field_path + ' ' + field.name!r}, {item})")

    def default_condition(self, field: Field, value: str) -> str:
        default = self.source.global_for(field.name, field.default)
        if field.default is None:
            return f"{value} is None"
        if field.kind is Primitive.ARRAY:
            return f"{value} is not None and not len({value})"
        if field.kind is Primitive.STRUCT:
            return f"{value} is {default} or {value} == {default}"
        return f"{value} == {default}"

    def write_field(self, field: Field, value: str, field_path: str) -> None:
        nullable = field.is_nullable(self.version)
        if field.kind is Primitive.ARRAY:
            self.write_array(field, nullable, value, field_path)
        elif field.kind is Primitive.STRUCT:
            self.write_optional_struct(field, nullable, value, field_path)
        else:
            self.write_primitive(field.kind, nullable, value)

    def write_primitive(self, kind: Primitive, nullable: bool, value: str) -> None:
        if kind is Primitive.UUID:
            self.run.append((kind.code, f"{value}.bytes"))
        elif kind.code:
            self.run.append((kind.code, value))
        elif kind is Primitive.RECORDS:
            self.write_records(nullable, value)
        else:
            self.write_string_or_bytes(kind, nullable, value)

    def write_pending_run(self) -> None:
        """Writes one pack for the run so far."""
        if not self.run:
            return
        codes = "".join(code for code, _ in self.run)
        if codes == "x":
            self.source.add_line(f"{self.out}.append(0)")
        else:
            pack = self.source.global_for("pack", struct.Struct(">" + codes).pack)
            values = ", ".join(value for code, value in self.run if code != "x")
            self.source.add_line(f"{self.out} += {pack}({values})")
        self.run.clear()

    def write_length(self, code: str, length: str) -> None:
        """Packs the pending fields, then a length; `length` is a local, -1 for null."""
        if not self.flexible:
            self.run.append((code, length))
            self.write_pending_run()
            return
        self.write_pending_run()
        source = self.source
        with source.indent_block(f"if {length} < 127:"):
            source.add_line(f"{self.out}.append({length} + 1)")
        with source.indent_block("else:"):
            source.add_line(f"{self.out} += write_uvarint({length} + 1)")

    def write_string_or_bytes(self, kind: Primitive, nullable: bool, value: str) -> None:
        source = self.source
        taken, length = source.new_local("b"), source.new_local("n")
        if nullable:
            source.add_line(f"{taken} = {value}")
            with source.indent_block(f"if {taken} is None:"):
                source.add_line(f"{taken}, {length} = b'', -1")
            with source.indent_block("else:"):
                self.write_measurement(kind, taken, taken, length)
        else:
            self.write_measurement(kind, value, taken, length)
        self.write_length("h" if kind is Primitive.STRING else "i", length)
        source.add_line(f"{self.out} += {taken}")

    def write_measurement(self, kind: Primitive, value: str, taken: str, length: str) -> None:
        source = self.source
        source.add_line(f"{taken} = {value}.encode()" if kind is Primitive.STRING else f"{taken} = {value}")
        source.add_line(f"{length} = len({taken})")
        if kind is Primitive.STRING and self.flexible:
            with source.indent_block(f"if {length} > {MAX_STRING_BYTES}:"):
                source.add_line(f"raise OverflowError('a string of %d bytes' % {length})")

    def write_records(self, nullable: bool, value: str) -> None:
        source = self.source
        assert self.out == "out", "no record set stands in a tagged field"
        taken, length = source.new_local("r"), source.new_local("n")
        source.add_line(f"{taken} = {value}")
        if nullable:
            with source.indent_block(f"if {taken} is None:"):
                source.add_line(f"{length} = -1")
            head = "elif"
        else:
            head = "if"
        with source.indent_block(f"{head} {taken}.__class__ in BUFFER_TYPES:"):
            source.add_line(f"{length} = len({taken})")
        with source.indent_block("else:"):
            source.add_line(f"{length} = {taken}.size_bytes")
        self.write_length("i", length)
        with source.indent_block(f"if {length} > 0:"):
            source.add_line("pieces.append(out)")
            source.add_line(f"pieces.append({taken})")
            source.add_line("out = bytearray()")

    def write_array(self, field: Field, nullable: bool, value: str, field_path: str) -> None:
        source = self.source
        items, count = source.new_local("a"), source.new_local("n")
        source.add_line(f"{items} = {value}")
        if nullable:
            with source.indent_block(f"if {items} is None:"):
                source.add_line(f"{items}, {count} = (), -1")
            with source.indent_block("else:"):
                source.add_line(f"{count} = len({items})")
        else:
            source.add_line(f"{count} = len({items})")
        self.write_length("i", count)
        self.write_items(field, items, count, field_path)

    def write_items(self, field: Field, items: str, count: str, field_path: str) -> None:
        source, kind = self.source, field.item
        assert kind is not None
        if kind.code and kind is not Primitive.UUID:
            layout = source.global_for("layout", struct_by_count(kind.code))
            with source.indent_block(f"if {count} > 0:"):
                source.add_line(f"{self.out} += {layout}({count}).pack(*{items})")
            return
        item = source.new_local("e")
        with source.indent_block(f"for {item} in {items}:"):
            if kind is Primitive.STRUCT:
                self.write_struct(field.element, item, field_path)
            else:
                self.write_primitive(kind, False, item)
            self.write_pending_run()

    def write_optional_struct(self, field: Field, nullable: bool, value: str, field_path: str) -> None:
        if not nullable:
            self.write_struct(field.element, value, field_path)
            return
        source = self.source
        self.write_pending_run()
        with source.indent_block(f"if {value} is None:"):
            source.add_line(f"{self.out}.append(255)")
        with source.indent_block("else:"):
            source.add_line(f"{self.out}.append(1)")
            self.write_struct(field.element, value, field_path)
            self.write_pending_run()

    def write_tagged_fields(self, fields: list[Field], value: str, field_path: str) -> None:
        if not fields:
            self.run.append(("x", ""))
            return
        source = self.source
        self.write_pending_run()
        all_default = " and ".join(f"({self.default_condition(field, f'{value}.{field.name}')})" for field in fields)
        with source.indent_block(f"if {all_default}:"):
            source.add_line(f"{self.out}.append(0)")
        with source.indent_block("else:"):
            self.write_present_tagged_fields(fields, value, field_path)

    def write_present_tagged_fields(self, fields: list[Field], value: str, field_path: str) -> None:
        source, around = self.source, self.out
        section, count, self.out = source.new_local("section"), source.new_local("t"), source.new_local("body")
        source.add_line(f"{section}, {count} = bytearray(), 0")
        for field in fields:
            with source.indent_block(f"if not ({self.default_condition(field, f'{value}.{field.name}')}):"):
                source.add_line(f"{count} += 1")
                source.add_line(f"{self.out} = bytearray()")
                self.write_field(field, f"{value}.{field.name}", f"{field_path} {field.name}")
                self.write_pending_run()
                source.add_line(f"{section} += {write_uvarint(field.tag or 0)!r}")
                source.add_line(f"{section} += write_uvarint(len({self.out}))")
                source.add_line(f"{section} += {self.out}")
        self.out = around
        source.add_line(f"{self.out} += write_uvarint({count})")
        source.add_line(f"{self.out} += {section}")
