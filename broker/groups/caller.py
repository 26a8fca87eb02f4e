"""The client that sends a group request: its name and address, and the version of the API."""

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The sender of a request, and the version of its API. `host` begins with a slash, as Java shows addresses.
    `may_see(topic)`: whether an access rule lets the client know that the topic exists.
    """

    version: int
    client_id: str = ""
    host: str = "/127.0.0.1"
    may_see: Callable[[str], bool] = field(default=lambda topic: True, compare=False)
