"""Brokers and replicas as a test moves them; one broker can be stopped, killed, paused and started again."""

from typing import Any, TypedDict, Unpack

from .control_client import ControlClient


class Role(TypedDict, total=False):
    """What a broker is to partition 0 of a topic."""

    leader_of: str
    follower_of: str


class Cluster:
    """What may be done to brokers. Raises: ControlFailed, also for what one broker does not have, as followers."""

    def __init__(self, control: ControlClient) -> None:
        self._control = control

    def _do(self, action: str, **fields: Any) -> None:
        self._control.ask("POST", action, {name: value for name, value in fields.items() if value is not None})

    # Brokers, by id, or by what they are to partition 0 of a topic: leader_of="orders", follower_of="orders"

    def stop(self, broker: int | None = None, **meant: Unpack[Role]) -> None:
        """A controlled shutdown: others lead before it ends."""
        self._do("brokers/stop", broker=broker, **meant)

    def kill(self, broker: int | None = None, **meant: Unpack[Role]) -> None:
        """Connections are reset, nothing is flushed; it is fenced after `broker.session.timeout.ms`."""
        self._do("brokers/kill", broker=broker, **meant)

    def start(self, broker: int | None = None) -> None:
        """Starts one that was stopped or killed, on its ports and over its logs; without an id all of them."""
        self._do("brokers/start", broker=broker)

    def pause(self, broker: int | None = None, **meant: Unpack[Role]) -> None:
        """It stands still as a process that is suspended."""
        self._do("brokers/pause", broker=broker, **meant)

    def resume(self, broker: int | None = None, **meant: Unpack[Role]) -> None:
        """It goes on."""
        self._do("brokers/resume", broker=broker, **meant)

    def fence(self, broker: int | None = None, **meant: Unpack[Role]) -> None:
        """As if its session were over; until `unfence`."""
        self._do("brokers/fence", broker=broker, **meant)

    def unfence(self, broker: int) -> None:
        """It counts as alive again: it may lead, and comes back into the ISRs."""
        self._do("brokers/unfence", broker=broker)

    # Replicas

    def pause_follower(
        self, broker: int | None = None, topic: str | None = None, partition: int | None = None, **meant: Unpack[Role]
    ) -> None:
        """Stops its fetches of a partition, or of all; without a broker those of all."""
        self._do("followers/pause", broker=broker, topic=topic, partition=partition, **meant)

    def resume_follower(
        self, broker: int | None = None, topic: str | None = None, partition: int | None = None, **meant: Unpack[Role]
    ) -> None:
        """Has it fetch again."""
        self._do("followers/resume", broker=broker, topic=topic, partition=partition, **meant)

    def slow_follower(
        self, broker: int | None = None, delay: str | int = 0, *, bytes_per_second: int = 0, **meant: Unpack[Role]
    ) -> None:
        """Puts off each of its fetches by `delay`, or lets that number of bytes through; with neither it ends that."""
        self._do("followers/slow", broker=broker, delay=delay, bytes_per_second=bytes_per_second, **meant)

    def shrink_isr(self, topic: str, broker: int | None = None, partition: int = 0, **meant: Unpack[Role]) -> None:
        """Takes a follower out of the ISR."""
        self._do("isr/shrink", topic=topic, partition=partition, broker=broker, **meant)

    def expand_isr(self, topic: str, broker: int | None = None, partition: int = 0, **meant: Unpack[Role]) -> None:
        """Takes a replica into the ISR."""
        self._do("isr/expand", topic=topic, partition=partition, broker=broker, **meant)

    # Leaders

    def move_leader(self, topic: str, broker: int | None = None, partition: int = 0) -> None:
        """Makes an in-sync replica the leader; with `__consumer_offsets` its partition's coordinator moves."""
        self._do("leaders/move", topic=topic, partition=partition, broker=broker)

    def take_leader(self, topic: str, partition: int = 0) -> None:
        """Leaves the partition without one."""
        self._do("leaders/take", topic=topic, partition=partition)

    def bump_epoch(self, topic: str, partition: int = 0) -> None:
        """The same leader in a new epoch."""
        self._do("leaders/bump-epoch", topic=topic, partition=partition)

    def elect(self, topic: str, partition: int = 0, *, unclean: bool = False) -> None:
        """A preferred election, or an unclean one."""
        self._do("leaders/elect", topic=topic, partition=partition, unclean=unclean)

    def hold_elections(self) -> None:
        """Partitions that lose their leader stay without one."""
        self._do("elections/hold")

    def release_elections(self) -> None:
        """They get one again."""
        self._do("elections/release")

    def hold_metadata(self, broker: int) -> None:
        """It goes on with the leaders that it knew."""
        self._do("metadata/hold", broker=broker)

    def release_metadata(self, broker: int) -> None:
        """It learns what became of them."""
        self._do("metadata/release", broker=broker)
