"""How values are decoded: their format, whether they begin with a schema id, and the schemas, one or by their ids."""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from ..failures import BadUsage
from ..places.place_files import PlaceFiles

ValueFormat = Literal["avro", "protobuf", "json"]
FORMATS: tuple[str, ...] = get_args(ValueFormat)
MAX_SCHEMA_BYTES = 16 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """`definition` is JSON of Avro or JSON Schema, or protobuf's descriptor in base64: a `FileDescriptorSet` of a file,
    a `FileDescriptorProto` of a registry. `references` are the schemas that it refers to, each behind its own, by name.
    """

    definition: str
    references: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueDecoding:
    """How the values of a read are decoded. `is_framed`: they begin with magic byte 0 and a schema id.

    `one` is the schema of all values, of the type `message` for protobuf; else `by_id` has them. JSON needs neither.
    """

    format: ValueFormat
    is_framed: bool = False
    one: Schema | None = None
    message: str | None = None
    by_id: Mapping[int, Schema] = field(default_factory=dict)


def schema_of_file(files: PlaceFiles, path: str, kind: ValueFormat) -> Schema:
    """The schema in a file: JSON, or the output of `protoc --include_imports --descriptor_set_out`.

    Raises: BadUsage, DiskFault.
    """
    data = files.read_whole(path, MAX_SCHEMA_BYTES)
    if data is None:
        raise BadUsage(f"{path}: no such schema file")
    return Schema(definition=b64encode(data).decode() if kind == "protobuf" else data.decode("utf-8", "replace"))
