"""Protobuf values in protobuf's own mapping to JSON, with the names of fields as in the .proto, and with default values
where a field has no presence.

Framed values have before them the path of their message: a count and as many indexes, zigzag varints, into the file's
messages and those nested in them; a single 0 is the first message.
"""

from base64 import b64decode
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from ..failures import BadUsage
from .schemas import Schema

MAX_PATH = 100
_GOOGLE = "google/protobuf/"


class ProtobufValues:
    """Values of one schema. They are of the type `message`, else of that which their path names in the last file."""

    def __init__(self, schema: Schema, message: str | None, *, has_path: bool) -> None:
        """Raises: BadUsage."""
        try:
            from google.protobuf import json_format, message_factory
            from google.protobuf.descriptor_pool import DescriptorPool
        except ImportError as missing:
            raise BadUsage("valueFormat=protobuf needs protobuf: pip install '.[values]'") from missing
        self._to_json = json_format.MessageToJson
        self._class_of = message_factory.GetMessageClass
        self._pool = DescriptorPool()
        self._has_path = has_path
        self._classes: dict[tuple[int, ...], Any] = {}
        try:
            last = _add_schema(self._pool, schema, is_descriptor_set=message is not None)
            self._file = self._pool.FindFileByName(last)
            self._one = None if message is None else self._class_of(self._pool.FindMessageTypeByName(message))
        except KeyError as missing_name:
            raise BadUsage(f"no such protobuf message or file in the schema: {missing_name}") from missing_name
        except Exception as error:
            raise BadUsage(f"no protobuf descriptor: {error}") from error

    def text(self, value: memoryview) -> str:
        path: tuple[int, ...] = ()
        if self._has_path:
            path, value = _read_message_indexes(value)
        found = (self._one or self._message_class_at(path)).FromString(bytes(value))
        return str(
            self._to_json(
                found,
                preserving_proto_field_name=True,
                always_print_fields_with_no_presence=True,
                indent=None,
                ensure_ascii=False,
                descriptor_pool=self._pool,
            )
        )

    def _message_class_at(self, path: tuple[int, ...]) -> Any:
        found = self._classes.get(path)
        if found is None:
            names = self._file.message_types_by_name
            for index in path:
                if index >= len(names):
                    raise LookupError(f"the schema has no message at {'.'.join(map(str, path))}")
                message = list(names.values())[index]
                names = message.nested_types_by_name
            found = self._classes[path] = self._class_of(message)
        return found


def _add_schema(pool: Any, schema: Schema, *, is_descriptor_set: bool) -> str:
    """Add the files of the schema to the pool; returns the name of the last. `is_descriptor_set`: its definition is a
    FileDescriptorSet, else one file."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

    if is_descriptor_set:
        files: Iterable[Any] = FileDescriptorSet.FromString(b64decode(schema.definition)).file
        for file in files:
            _add_file(pool, file)
        return str(file.name)
    for name, reference in (*schema.references, ("value.proto", schema.definition)):
        file = FileDescriptorProto.FromString(b64decode(reference, validate=True))
        file.name = name  # by which others import it; the registry may say `default`
        _add_file(pool, file)
    return str(file.name)


def _add_file(pool: Any, file: Any) -> None:
    """Add a file, after those of Google's own that it imports and the pool lacks."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    for wanted in file.dependency:
        try:
            pool.FindFileByName(wanted)
        except KeyError:
            if not wanted.startswith(_GOOGLE):
                raise
            known = import_module(wanted.removesuffix(".proto").replace("/", ".") + "_pb2").DESCRIPTOR
            _add_file(pool, FileDescriptorProto.FromString(known.serialized_pb))
    pool.AddSerializedFile(file.SerializeToString())


def _read_message_indexes(value: memoryview) -> tuple[tuple[int, ...], memoryview]:
    """The path of the message in its file, and the bytes after that. Raises: ValueError."""
    count, at = _read_zigzag(value, 0)
    if not 0 <= count <= MAX_PATH:
        raise ValueError(f"a path of {count} message indexes")
    path = []
    for _ in range(count):
        index, at = _read_zigzag(value, at)
        if index < 0:
            raise ValueError(f"message index {index}")
        path.append(index)
    return tuple(path) or (0,), value[at:]


def _read_zigzag(data: memoryview, at: int) -> tuple[int, int]:
    number = 0
    for shift in range(0, 35, 7):
        if at >= len(data):
            break
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at
    raise ValueError("the message indexes end inside a number")
