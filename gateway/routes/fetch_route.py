"""Fetch goes to the leaders, without a session and without a rack.

A fetch session (KIP-227) is kept by one broker, so a fetch from several cannot have one: each answer has session id 0,
and clients send full requests. With a rack the leader would name a follower to fetch from (KIP-392), which the next
request would not reach, since it goes to the leader again.
"""

from dataclasses import dataclass, replace
from typing import Any

from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.fetch import FetchRequest
from .partition_route import PartitionRoute

NO_SESSION, WITHOUT_SESSION = 0, -1


@dataclass(frozen=True, slots=True)
class FetchRoute(PartitionRoute):
    """Removes session and rack from requests."""

    def prepare(self, request: Any) -> Any:
        """Raises: ApiError for a session id, since the gateway never gives one."""
        asked: FetchRequest = request
        if asked.session_id != NO_SESSION:
            raise ApiError(f"fetch session {asked.session_id}", ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        return replace(asked, session_epoch=WITHOUT_SESSION, rack_id="", forgotten_topics_data=())
