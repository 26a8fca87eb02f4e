"""JSON values: text that is well-formed stays as it is, and with a schema it has to be valid by it."""

import json
from typing import Any, NoReturn

from ..failures import BadUsage
from .schemas import Schema

BASE_URI = "json-schema:///"
"""What names of references count from."""


class JsonValues:
    """Values of one JSON Schema, of any draft up to 2020-12, or of none."""

    def __init__(self, schema: Schema | None = None) -> None:
        """Raises: BadUsage."""
        self._validator = None if schema is None else _make_validator(schema)

    def text(self, value: memoryview) -> str:
        text = str(value, "utf-8")
        found = json.loads(text, parse_constant=_refuse_constant)
        if self._validator is not None:
            self._validator.validate(found)
        return text


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _make_validator(schema: Schema) -> Any:
    try:
        import jsonschema_rs
    except ImportError as missing:
        raise BadUsage("a JSON Schema needs jsonschema-rs: pip install '.[values]'") from missing
    try:
        resources = [(f"{BASE_URI}{name}", json.loads(reference)) for name, reference in schema.references]
        registry = jsonschema_rs.Registry(resources) if resources else None
        # What a schema refers to is in the registry; nothing is fetched from addresses that it names.
        return jsonschema_rs.validator_for(
            json.loads(schema.definition), registry=registry, base_uri=BASE_URI if resources else None, offline=True
        )
    except Exception as error:
        raise BadUsage(f"no JSON Schema: {error}".partition("\n")[0]) from error
