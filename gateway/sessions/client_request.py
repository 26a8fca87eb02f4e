"""A request of a client that is more than passed on, and what its number of items means for those who work on it."""

from dataclasses import dataclass

from ..request_frame import RequestHead


@dataclass(slots=True)
class ClientRequest:
    """On whose behalf the cluster is asked. `has_many_items`: the request, or an answer to it, so that a worker writes
    what is made of them."""

    head: RequestHead
    client_id: str | None
    has_many_items: bool = False
