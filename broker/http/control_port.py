"""The control port: JSON over HTTP to what `broker/faults/control_requests.py` answers, from tests in any language.

Who reaches it can do anything to the broker, so it listens on the loopback, or asks for a token. Without a token a
request has to name a loopback address as its host and no origin: a web page in a browser on this machine could come by
a name that leads here, and may post to any address.
"""

import hmac
import json
from http import HTTPStatus

import h11

from ...network.http.server import HttpServer, Page
from ..faults.control_requests import Control

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class ControlPort(HttpServer):
    """Answers for one `Control`; `token` "": none is asked for."""

    def __init__(self, control: Control, token: str = "") -> None:
        super().__init__({})
        self._control = control
        self._token = token

    async def _page_for(self, request: h11.Request, body: bytes) -> Page:
        headers = {bytes(name).lower(): bytes(value).decode("latin-1") for name, value in request.headers}
        refusal = self._refusal(headers)
        if refusal is not None:
            return _json(HTTPStatus.FORBIDDEN, {"error": refusal})
        try:
            fields = json.loads(body) if body.strip() else {}
        except (ValueError, RecursionError) as fault:
            return _json(HTTPStatus.BAD_REQUEST, {"error": f"the body is no JSON: {fault}"})
        if not isinstance(fields, dict):
            return _json(HTTPStatus.BAD_REQUEST, {"error": "expected a JSON object"})
        path = bytes(request.target).split(b"?")[0].decode("ascii", "replace")
        return _json(*await self._control.handle(bytes(request.method).decode("ascii", "replace"), path, fields))

    def _refusal(self, headers: dict[bytes, str]) -> str | None:
        if self._token:
            given = headers.get(b"authorization", "").removeprefix("Bearer ")
            is_right = hmac.compare_digest(given.encode(), self._token.encode())
            return None if is_right else "send the token: Authorization: Bearer …"
        if b"origin" in headers:
            return "without a token no web page is answered"
        host = headers.get(b"host", "").rpartition(":")[0].strip("[]")
        return None if host in LOOPBACK else "without a token the host has to be a loopback address"


def _json(status: HTTPStatus, answer: dict[str, object]) -> Page:
    return Page(body=json.dumps(answer).encode() + b"\n", content_type="application/json", status=status)
