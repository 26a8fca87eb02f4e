"""The client that sends a group request: its name and address, and the version of the API."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who sends a request, and in which version of its API. `host` begins with a slash, as Java shows addresses."""

    version: int
    client_id: str = ""
    host: str = "/127.0.0.1"
