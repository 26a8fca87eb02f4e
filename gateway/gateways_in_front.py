"""Which gateways an ApiVersions request came through, so that gateways which lead to each other do not ask for ever.

A gateway sends it with the client id `stepdown-gateway-ID`; each further gateway that it reaches appends its own id:
`stepdown-gateway-ID-ID`. Other requests of gateways have the client id `stepdown-gateway`.
"""

import re
import secrets
from typing import Final

from ..network.clients.software import GATEWAY as CLIENT_ID

__all__ = ["CLIENT_ID", "MOST_GATEWAYS", "add_gateway", "gateways_in", "make_gateway_id"]
MOST_GATEWAYS: Final = 4
"""The longest chain of gateways."""
_PATH = re.compile(rf"{CLIENT_ID}((?:-[0-9a-f]{{8}})+)")


def make_gateway_id() -> str:
    """An id that no other gateway has. All workers of a gateway have the same."""
    return secrets.token_hex(4)


def gateways_in(client_id: str) -> list[str]:
    """The gateways' ids in a client id, in the order in which they asked; none for other clients."""
    found = _PATH.fullmatch(client_id)
    return found[1][1:].split("-") if found else []


def add_gateway(client_id: str, gateway_id: str) -> str:
    """The client id for a gateway's own ApiVersions request; `client_id`: of the request that caused it, or ""."""
    return f"{client_id if gateways_in(client_id) else CLIENT_ID}-{gateway_id}"
