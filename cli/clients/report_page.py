"""The page /clients of a stepdown that runs on this machine."""

from __future__ import annotations

import base64
import http.client
import json
from http import HTTPStatus
from typing import Any

from ..support.bootstrap_server import parse_http_address
from ..support.failures import CommandFailure

TIMEOUT_S = 30.0
HINT = "`stepdown serve` and `stepdown gateway` name their http address when they are ready; --http sets it."
MOST_BYTES = 256 * 1024 * 1024


def fetch_report(address: str, password: str) -> dict[str, Any]:
    """The report as JSON has it; `password` is that of the page, "" for none. Raises: CommandFailure."""
    where = parse_http_address(address, "--http")
    address = str(where)
    from ...client.errors import describe_connect_fault

    connection = http.client.HTTPConnection(where.host or "127.0.0.1", where.port, timeout=TIMEOUT_S)
    try:
        login = base64.b64encode(f":{password}".encode()).decode()
        connection.request("GET", "/clients", headers={"Authorization": f"Basic {login}"} if password else {})
        response = connection.getresponse()
        data = response.read(MOST_BYTES)
    except (ConnectionResetError, http.client.HTTPException) as fault:
        told = "closed the connection" if isinstance(fault, ConnectionResetError) else "does not speak HTTP"
        raise CommandFailure(f"{address} {told}: it may be the port of Kafka's clients", HINT) from fault
    except OSError as fault:
        raise CommandFailure(f"no http port answers at {address}: {describe_connect_fault(fault)}", HINT) from fault
    finally:
        connection.close()
    if response.status == HTTPStatus.UNAUTHORIZED:
        raise CommandFailure(
            f"{address} asks for a password" if not password else f"{address} does not take the password",
            "Give that of stepdown.page.password as STEPDOWN_PAGE_PASSWORD.",
        )
    if response.status != HTTPStatus.OK:
        raise CommandFailure(f"{address} answered {response.status}: {data[:200].decode(errors='replace').strip()}")
    try:
        document = json.loads(data)
    except ValueError as fault:
        raise CommandFailure(f"{address} does not answer as stepdown: {data[:100]!r}") from fault
    if not isinstance(document, dict):
        raise CommandFailure(f"{address} does not answer as stepdown: {data[:100]!r}")
    return document
