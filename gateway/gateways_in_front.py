"""Which gateways a question for versions came through, so that gateways that lead to each other do not ask for ever.

The client id of such a question is `stepdown-gateway-ID`, and has the id of each further gateway that asks because it
was asked: `stepdown-gateway-ID-ID`. Its other requests have the client id `stepdown-gateway`.
"""

import re
import secrets
from typing import Final

from ..network.clients.software import GATEWAY as CLIENT_ID

__all__ = ["CLIENT_ID", "MOST_GATEWAYS", "add_gateway", "gateways_in", "make_gateway_id"]
MOST_GATEWAYS: Final = 4
"""One in front of the other."""
_PATH = re.compile(rf"{CLIENT_ID}((?:-[0-9a-f]{{8}})+)")


def make_gateway_id() -> str:
    """An id that no other gateway has. All workers of a gateway have the same."""
    return secrets.token_hex(4)


def gateways_in(client_id: str) -> list[str]:
    """The ids in a client id, the first that asked first; none for any other client."""
    found = _PATH.fullmatch(client_id)
    return found[1][1:].split("-") if found else []


def add_gateway(client_id: str, gateway_id: str) -> str:
    """The client id of a question that a gateway asks because a client asked it, "" because none did."""
    return f"{client_id if gateways_in(client_id) else CLIENT_ID}-{gateway_id}"
