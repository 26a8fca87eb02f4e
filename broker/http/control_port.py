"""The control port: JSON over HTTP, for tests in any language; `broker/faults/control_requests.py` answers.

Who reaches it can do anything to the broker, so it listens on the loopback, or asks for a token. Without a token a
request needs a loopback address in Host and must not have Origin: otherwise any web page in a browser on this machine
could send requests here.
"""

import hmac
import json
from collections.abc import Iterable
from http import HTTPStatus

import h11

from ...network.http.local_access import find_reason_to_refuse_page
from ...network.http.server import HttpServer, Page
from ..faults.control_requests import Control
from .openapi import openapi


class ControlPort(HttpServer):
    """Passes requests that have the token to one `Control`."""

    def __init__(self, control: Control) -> None:
        super().__init__({})
        self._control = control

    async def _make_page_for(self, request: h11.Request, body: bytes, peer: str) -> Page:
        refusal = self._find_reason_to_refuse(request.headers)
        if refusal is not None:
            return _json_page(HTTPStatus.FORBIDDEN, {"error": refusal})
        try:
            fields = json.loads(body) if body.strip() else {}
        except (ValueError, RecursionError) as fault:
            return _json_page(HTTPStatus.BAD_REQUEST, {"error": f"the body is no JSON: {fault}"})
        if not isinstance(fields, dict):
            return _json_page(HTTPStatus.BAD_REQUEST, {"error": "expected a JSON object"})
        path = bytes(request.target).split(b"?")[0].decode("ascii", "replace")
        if path == "/openapi.json":
            return _json_page(HTTPStatus.OK, openapi(self._control.operations.values()))
        return _json_page(*await self._control.handle(bytes(request.method).decode("ascii", "replace"), path, fields))

    def _find_reason_to_refuse(self, headers: Iterable[tuple[bytes, bytes]]) -> str | None:
        token = self._control.token
        if not token:
            return find_reason_to_refuse_page(headers)
        given = [bytes(value).decode("latin-1") for name, value in headers if bytes(name).lower() == b"authorization"]
        is_right = hmac.compare_digest("".join(given).removeprefix("Bearer ").encode(), token.encode())
        return None if is_right else "send the token: Authorization: Bearer …"


def _json_page(status: HTTPStatus, answer: dict[str, object]) -> Page:
    return Page(body=json.dumps(answer).encode() + b"\n", content_type="application/json", status=status)
