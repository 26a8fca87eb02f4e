"""Decodes values into JSON text, one by one; what cannot be decoded is a reason, never a failure.

Framed values begin as Confluent's serializers write them: magic byte 0, the schema's id in four bytes, and for protobuf
the path of the message in its file.
"""

from collections.abc import Iterator
from typing import Protocol

from ..failures import BadUsage
from .avro_to_json import AvroValues
from .json_values import JsonValues
from .protobuf_values import ProtobufValues
from .schemas import Schema, ValueDecoding

MAGIC = 0
FRAME_BYTES = 5
MAX_REASON = 300


class Values(Protocol):
    """The values of one schema. `text` raises an exception of any kind for what it cannot decode."""

    def text(self, value: memoryview) -> str: ...


class ValueDecoder:
    """Decodes values as `decoding` says."""

    def __init__(self, decoding: ValueDecoding) -> None:
        """Raises: BadUsage for the schema of all values, if it cannot be used; for a library that is absent."""
        self._decoding = decoding
        self._made: dict[int, Values] = {}
        self._one = None if decoding.by_id else self._make_values(decoding.one)

    def find_unusable_schemas(self) -> Iterator[str]:
        """What is wrong with schemas of a registry, a line each."""
        for schema_id in self._decoding.by_id:
            try:
                self._values_of_schema_id(schema_id)
            except BadUsage as problem:
                yield f"schema id {schema_id}: {problem}"

    def decode(self, value: memoryview | None) -> tuple[str | None, str | None]:
        """The value as JSON text, and the reason where there is none; neither for null."""
        if value is None:
            return None, None
        try:
            return self._to_json(value), None
        except Exception as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            return None, reason[:MAX_REASON]

    def _to_json(self, value: memoryview) -> str:
        if not self._decoding.is_framed:
            assert self._one is not None
            return self._one.text(value)
        if len(value) < FRAME_BYTES or value[0] != MAGIC:
            raise ValueError("the value does not begin with magic byte 0 and a schema id")
        schema_id = int.from_bytes(value[1:FRAME_BYTES], "big")
        return (self._one or self._values_of_schema_id(schema_id)).text(value[FRAME_BYTES:])

    def _values_of_schema_id(self, schema_id: int) -> Values:
        found = self._made.get(schema_id)
        if found is None:
            schema = self._decoding.by_id.get(schema_id)
            if schema is None:
                raise LookupError(f"schema id {schema_id} is of none of the subjects")
            found = self._made[schema_id] = self._make_values(schema)
        return found

    def _make_values(self, schema: Schema | None) -> Values:
        decoding = self._decoding
        if decoding.format == "json":
            return JsonValues(schema)
        assert schema is not None
        if decoding.format == "avro":
            return AvroValues(schema)
        return ProtobufValues(schema, decoding.message, has_path=decoding.is_framed)
