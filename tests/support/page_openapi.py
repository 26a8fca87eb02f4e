"""network/page/openapi.json, and whether an answer is as it says."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
from stepdown.network.page import page_site

DOCUMENT = json.loads((Path(page_site.__file__).parent / "openapi.json").read_text())
PATHS: dict[str, dict[str, Any]] = {path: what["get"] for path, what in DOCUMENT["paths"].items()}


def check_answer(path: str, value: object, status: str = "200") -> None:
    """Raises: jsonschema_rs.ValidationError."""
    schema = PATHS[path]["responses"][status]["content"]["application/json"]["schema"]
    jsonschema_rs.validate({**schema, "components": DOCUMENT["components"]}, value)
