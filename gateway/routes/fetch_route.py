"""Fetches: to the leaders, without sessions, and without a rack.

A session (KIP-227) lives on one broker, and what is asked of several has none: each answer says session 0, so that
clients send whole requests. With a rack the leader names a follower to fetch from (KIP-392), which the next request
would not reach: it goes to the leader again.
"""

from dataclasses import dataclass, replace
from typing import Any

from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.fetch import FetchRequest
from .partition_route import PartitionRoute

NO_SESSION, WITHOUT_SESSION = 0, -1


@dataclass(frozen=True, slots=True)
class FetchRoute(PartitionRoute):
    """Changes what a client asks."""

    def prepare(self, request: Any) -> Any:
        """Raises: ApiError for a session, which the gateway has not given."""
        asked: FetchRequest = request
        if asked.session_id != NO_SESSION:
            raise ApiError(f"fetch session {asked.session_id}", ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        return replace(asked, session_epoch=WITHOUT_SESSION, rack_id="", forgotten_topics_data=())
