"""Avro values without a file's header, as messages have them, in JSON.

| type | as JSON |
|---|---|
| bytes, fixed | base64 |
| decimal, uuid | text |
| date, time, timestamp | text of ISO 8601 |
| NaN, infinities | `"NaN"`, `"Infinity"`, `"-Infinity"` |
| union | the value of its branch |
"""

import io
import json
import math
from base64 import b64encode
from typing import Any

from ..failures import BadUsage
from .schemas import Schema

_PRIMITIVE = {"null", "boolean", "int", "long", "float", "double", "bytes", "string"}


class AvroValues:
    """Values of one schema, which is the one they were written with."""

    def __init__(self, schema: Schema) -> None:
        """Raises: BadUsage."""
        try:
            import fastavro
            from fastavro import _read_py
        except ImportError as missing:
            raise BadUsage("valueFormat=avro needs fastavro: pip install '.[values]'") from missing
        named: dict[str, Any] = {}
        try:
            for _, reference in schema.references:
                fastavro.parse_schema(json.loads(reference), named)
            self._schema = fastavro.parse_schema(json.loads(schema.definition), named)
        except Exception as error:
            raise BadUsage(f"no Avro schema: {error}") from error
        # fastavro's compiled reader overruns the stack on a value as deep as a type that contains itself allows.
        self._read = (_read_py if _AvroSchemaCheck(named).is_recursive(self._schema) else fastavro).schemaless_reader

    def text(self, value: memoryview) -> str:
        source = io.BytesIO(value)
        found = self._read(source, self._schema, None)
        if source.tell() < len(value):
            raise ValueError(f"{len(value) - source.tell()} bytes are left behind the value")
        try:
            return json.dumps(found, default=_text_of_other_value, ensure_ascii=False, allow_nan=False)
        except ValueError:
            return json.dumps(_replace_non_finite(found), default=_text_of_other_value, ensure_ascii=False)


class _AvroSchemaCheck:
    """Looks at a schema for what a small value could grow or go deep by. `named` are its named types."""

    def __init__(self, named: dict[str, Any]) -> None:
        self._named = named
        self._seen: dict[str, bool] = {}
        self._recursive = False

    def is_recursive(self, schema: Any) -> bool:
        """Whether a type contains itself. Raises: BadUsage for an array of items without bytes."""
        self._may_be_empty(schema, frozenset())
        return self._recursive

    def _may_be_empty(self, schema: Any, around: frozenset[str]) -> bool:
        """Whether a value may take no bytes. `around` are the records around it."""
        if isinstance(schema, list):
            for branch in schema:
                self._may_be_empty(branch, around)
            return False
        if isinstance(schema, str):
            return schema == "null" if schema in _PRIMITIVE else self._may_name_be_empty(schema, around)
        match schema["type"]:
            case "array":
                if self._may_be_empty(schema["items"], around):
                    raise BadUsage("an array of items that take no bytes: a few bytes could say a billion of them")
                return False
            case "map":
                self._may_be_empty(schema["values"], around)
                return False
            case "record" | "error":
                self._named.setdefault(schema["name"], schema)
                return self._may_name_be_empty(schema["name"], around)
            case "enum":
                return False
            case "fixed":
                return bool(schema["size"] == 0)
            case other:
                return self._may_be_empty(other, around)

    def _may_name_be_empty(self, name: str, around: frozenset[str]) -> bool:
        if name in around:
            self._recursive = True
            return False
        if name not in self._seen:
            schema = self._named[name]
            if schema["type"] in {"record", "error"}:
                inside = around | {name}
                fields = [self._may_be_empty(field["type"], inside) for field in schema["fields"]]
                self._seen[name] = all(fields)
            else:
                self._seen[name] = self._may_be_empty(schema, around)
        return self._seen[name]


def _text_of_other_value(value: Any) -> str:
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _replace_non_finite(value: Any) -> Any:
    """The value with text in the place of what JSON has no number for."""
    if isinstance(value, dict):
        return {name: _replace_non_finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_non_finite(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
