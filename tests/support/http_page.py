"""What the HTTP port of a broker answers, asked over a bare connection so that headers are the test's own."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from stepdown.config import HostPort


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """Headers have lower-case names."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


async def get(
    address: HostPort | None,
    path: str,
    headers: Mapping[str, str] | None = None,
    method: str = "GET",
    body: bytes = b"",
) -> HttpAnswer:
    """The answer to one request, of the host 127.0.0.1 where `headers` name no other."""
    assert address is not None
    reader, writer = await asyncio.open_connection(address.host, address.port)
    given = {"Host": "127.0.0.1", "Connection": "close", **(headers or {})}
    if body:
        given["Content-Length"] = str(len(body))
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    writer.write(f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + body)
    answer = await reader.read()
    writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *rest = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(": ") for line in rest)
    return HttpAnswer(int(status.split()[1]), {name.lower(): value for name, _, value in pairs}, body)


async def get_json(address: HostPort | None, view: str, **parameters: object) -> Any:
    """The document of a view that answers 200."""
    answer = await get(address, f"/api/{view}?{urlencode(parameters)}")
    assert answer.status == 200, answer.body
    return answer.json()


async def post_json(address: HostPort | None, view: str, fields: object, **headers: str) -> HttpAnswer:
    """The answer to a POST of JSON."""
    given = {"Content-Type": "application/json", **{name.replace("_", "-"): text for name, text in headers.items()}}
    return await get(address, f"/api/{view}", given, "POST", json.dumps(fields).encode())
