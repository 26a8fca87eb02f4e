"""Which partitions group members have fetched from since the assignment: they read all that is written after that.

A consumer that begins at the latest offset has a position in a partition only when it fetches from it.
"""

import asyncio
import itertools
from collections.abc import Iterable
from typing import Any

from ...protocol.api import ApiKey
from ...protocol.messages.sync_group import SyncGroupResponse

TopicPartition = tuple[str, int]
MOST_NOTES = 100_000
"""Above this all notes are forgotten: then no member counts as having fetched."""


class FetchedPartitions:
    """Counts requests: a partition was fetched if the fetch came after the answer that assigned something."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._fetched: dict[tuple[str, TopicPartition], int] = {}
        self._assigned: dict[str, int] = {}
        self._changed = asyncio.Event()

    def note_fetch(self, client_id: str, partitions: Iterable[tuple[str, int | None]]) -> None:
        """Notes that a client fetches from these partitions."""
        self._forget_if_many()
        number = next(self._numbers)
        for topic, index in partitions:
            if index is not None:
                self._fetched[client_id, (topic, index)] = number

    def note_answer(self, key: ApiKey, request: Any, response: Any) -> None:
        """Notes a response, which may assign partitions to a member."""
        is_assignment = isinstance(response, SyncGroupResponse) and not response.error_code
        if key is ApiKey.CONSUMER_GROUP_HEARTBEAT and getattr(response, "assignment", None) is not None:
            is_assignment = True
        if is_assignment:
            self._forget_if_many()
            self._assigned[getattr(response, "member_id", None) or request.member_id] = next(self._numbers)
        self._changed.set()
        self._changed = asyncio.Event()

    def not_fetched_partitions(
        self, client_id: str, member_id: str, assigned: Iterable[TopicPartition]
    ) -> list[TopicPartition]:
        """The assigned partitions of a member from which its client has not fetched since the assignment."""
        since = self._assigned.get(member_id, 0)
        return [each for each in assigned if self._fetched.get((client_id, each), 0) <= since]

    async def await_change(self) -> None:
        """Returns after the next answer."""
        await self._changed.wait()

    def _forget_if_many(self) -> None:
        if len(self._fetched) + len(self._assigned) > MOST_NOTES:
            self._fetched.clear()
            self._assigned.clear()
