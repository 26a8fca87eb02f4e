"""Moves the leaders of partitions from broker to broker, while clients write and read."""

import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from confluent_kafka import ElectionType, TopicPartition
from confluent_kafka.admin import AdminClient
from stepdown.client import Admin

from .deadline import DEADLINE_S

EVERY_S = 0.3
NO_ELECTION_NEEDED = 84


class LeaderMover:
    """`moves`: how often all of the partitions have had a new leader. Each has a replica on each of the brokers."""

    def __init__(self, address: str, topic: str, partitions: int, brokers: Sequence[int]) -> None:
        self.moves = 0
        self._partitions = [TopicPartition(topic, each) for each in range(partitions)]
        self._brokers = list(brokers)
        self._address = address
        self._is_over = threading.Event()
        self._fault: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self._is_over.set()
        self._thread.join(DEADLINE_S)
        assert self._fault is None, self._fault

    def must_go_on(self) -> None:
        """Raises: AssertionError when it does not move them any more."""
        assert self._thread.is_alive(), self._fault

    def _run(self) -> None:
        try:
            with Admin(self._address) as admin:
                elections = AdminClient({"bootstrap.servers": self._address})
                while not self._is_over.wait(EVERY_S):
                    self._move(admin, elections)
        except BaseException as fault:
            self._fault = fault

    def _move(self, admin: Admin, elections: AdminClient) -> None:
        """The next broker becomes the preferred leader of each, then its leader."""
        self._brokers.append(self._brokers.pop(0))
        wanted = {(each.topic, each.partition): self._brokers for each in self._partitions}
        outcomes = admin.reassign_partitions(wanted)
        assert not any(each.failed for each in outcomes), outcomes
        elected = elections.elect_leaders(ElectionType.PREFERRED, self._partitions).result(DEADLINE_S)
        failed = {each: error for each, error in elected.items() if error and error.code() != NO_ELECTION_NEEDED}
        if not failed:  # else a replica is not in sync yet
            self.moves += 1
