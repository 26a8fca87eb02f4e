"""A request of a client that is decoded, or on whose behalf the cluster is asked."""

from dataclasses import dataclass

from ..request_frame import RequestHead


@dataclass(slots=True)
class ClientRequest:
    """A client's request. `has_many_items`: it or an answer to it has many items, so a worker encodes what is made of
    them."""

    head: RequestHead
    client_id: str | None
    has_many_items: bool = False
