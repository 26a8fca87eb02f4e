"""Looks up each topic once, so that a wrong name or partition is an error at once.

A producer would wait a minute for a missing topic or partition, since it may be created meanwhile.
"""

from __future__ import annotations

import time

from ...client.errors import Unreachable, describe_error
from ...client.operation import ask
from ...client.operations.topics import make_metadata_request
from ...protocol.errors import ErrorCode, error_name
from ...protocol.plural import plural
from ..support.command_client import CommandClient
from ..support.failures import CommandFailure

TRIES = 20
PAUSE_SECONDS = 0.1
NO_LEADER = -1
MAY_COME = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.LEADER_NOT_AVAILABLE)


class TopicLookup:
    """Knows the partitions of topics. Raises: CommandFailure from `check_exists`."""

    def __init__(self, client: CommandClient) -> None:
        self._client = client
        self._partitions: dict[str, int] = {}

    def is_known(self, topic: str, partition: int | None) -> bool:
        """Whether the topic is known to have the partition."""
        return (partition or 0) < self._partitions.get(topic, 0)

    def check_exists(self, topic: str, partition: int | None) -> None:
        """Returns when the topic exists, perhaps auto-created by the broker, and has the partition."""
        self._partitions[topic] = count = self._count_partitions(topic)
        if partition is not None and partition >= count:
            hint = f"Give it more with `stepdown topics alter {topic} -p {partition + 1}`."
            raise CommandFailure(f"topic {topic} has {plural(count, 'partition')}, no partition {partition}", hint)

    def _count_partitions(self, topic: str) -> int:
        for left in reversed(range(TRIES)):
            response = self._client.run(ask(make_metadata_request([topic], create=True)))
            found = response.topics[0]
            if not found.error_code:
                self._check_a_leader_answers(topic, {each.leader_id for each in found.partitions})
                return len(found.partitions)
            if found.error_code not in MAY_COME or not left:
                break
            time.sleep(PAUSE_SECONDS)  # creating a topic takes a moment
        hint = f"Create it with `stepdown topics create {topic}`." if found.error_code in MAY_COME else ""
        raise CommandFailure(f"topic {topic}: {describe_error(error_name(found.error_code), '')}", hint)

    def _check_a_leader_answers(self, topic: str, leaders: set[int]) -> None:
        """Raises: CommandFailure if no leader can be reached; a producer would wait for minutes."""
        unreachable: CommandFailure | None = None
        for leader in sorted(leaders - {NO_LEADER}):
            try:
                self._client.run(ask(make_metadata_request([topic]), leader))
            except CommandFailure as failure:
                if not isinstance(failure.__cause__, Unreachable):
                    raise
                unreachable = failure
            else:
                return
        if unreachable is not None:
            raise unreachable
