"""Stops and starts brokers, and moves replicas and leaders; works for a single broker, too."""

from typing import Any, TypedDict, Unpack

from .blocking_front import BlockingFront, NameSuggestions, blocking
from .control_client import ControlClient


class Role(TypedDict, total=False):
    """Names a broker by its role for partition 0 of a topic."""

    leader_of: str
    follower_of: str


class AsyncCluster(NameSuggestions):
    """`kafka.cluster` with asyncio: stops, kills, pauses and starts single brokers, holds up followers, moves leaders.

    Raises: ControlFailed, also for actions that one broker does not have, such as those on followers.
    """

    def __init__(self, control: ControlClient) -> None:
        self._control = control

    async def _post_action(self, action: str, **fields: Any) -> None:
        await self._control.ask("POST", action, {name: value for name, value in fields.items() if value is not None})

    # Brokers, by id, or by their role for partition 0 of a topic: leader_of="orders", follower_of="orders"

    async def stop(self, broker: int | None = None, **meant: Unpack[Role]) -> None:
        """Shuts a broker down in a controlled way: its leaders move before it ends."""
        await self._post_action("brokers/stop", broker=broker, **meant)

    async def kill(self, broker: int | None = None, **meant: Unpack[Role]) -> None:
        """Resets connections and flushes nothing; the broker is fenced after `broker.session.timeout.ms`."""
        await self._post_action("brokers/kill", broker=broker, **meant)

    async def start(self, broker: int | None = None) -> None:
        """Starts a stopped or killed broker with the same ports and logs; without an id, all of them."""
        await self._post_action("brokers/start", broker=broker)

    async def pause(self, broker: int | None = None, **meant: Unpack[Role]) -> None:
        """Pauses a broker like a suspended process."""
        await self._post_action("brokers/pause", broker=broker, **meant)

    async def resume(self, broker: int | None = None, **meant: Unpack[Role]) -> None:
        """Resumes a paused broker."""
        await self._post_action("brokers/resume", broker=broker, **meant)

    async def fence(self, broker: int | None = None, **meant: Unpack[Role]) -> None:
        """Fences a broker as if its session had expired, until `unfence`."""
        await self._post_action("brokers/fence", broker=broker, **meant)

    async def unfence(self, broker: int) -> None:
        """Makes a fenced broker alive again: it can lead, and rejoins the ISRs."""
        await self._post_action("brokers/unfence", broker=broker)

    # Replicas

    async def pause_follower(
        self, broker: int | None = None, topic: str | None = None, partition: int | None = None, **meant: Unpack[Role]
    ) -> None:
        """Stops a follower's fetches of a partition, by default of all; without a broker, of all followers."""
        await self._post_action("followers/pause", broker=broker, topic=topic, partition=partition, **meant)

    async def resume_follower(
        self, broker: int | None = None, topic: str | None = None, partition: int | None = None, **meant: Unpack[Role]
    ) -> None:
        """Lets a follower fetch again."""
        await self._post_action("followers/resume", broker=broker, topic=topic, partition=partition, **meant)

    async def slow_follower(
        self, broker: int | None = None, delay: str | int = 0, *, bytes_per_second: int = 0, **meant: Unpack[Role]
    ) -> None:
        """Delays each fetch of a follower, or limits its bytes per second; with neither, ends that."""
        await self._post_action(
            "followers/slow", broker=broker, delay=delay, bytes_per_second=bytes_per_second, **meant
        )

    async def shrink_isr(
        self, topic: str, broker: int | None = None, partition: int = 0, **meant: Unpack[Role]
    ) -> None:
        """Takes a follower out of the ISR."""
        await self._post_action("isr/shrink", topic=topic, partition=partition, broker=broker, **meant)

    async def expand_isr(
        self, topic: str, broker: int | None = None, partition: int = 0, **meant: Unpack[Role]
    ) -> None:
        """Takes a replica into the ISR."""
        await self._post_action("isr/expand", topic=topic, partition=partition, broker=broker, **meant)

    # Leaders

    async def move_leader(self, topic: str, broker: int | None = None, partition: int = 0) -> None:
        """Makes an in-sync replica the leader; for `__consumer_offsets`, the coordinator moves with it."""
        await self._post_action("leaders/move", topic=topic, partition=partition, broker=broker)

    async def move_coordinator(
        self, group: str | None = None, broker: int | None = None, *, transactional_id: str | None = None
    ) -> None:
        """Moves the coordinator of a group or a transactional id, with all others of the same partition.

        Without `broker` it moves to another broker than now. Members have to find it again.
        """
        await self._post_action("coordinators/move", group=group, broker=broker, transactional_id=transactional_id)

    async def take_leader(self, topic: str, partition: int = 0) -> None:
        """Leaves the partition without a leader."""
        await self._post_action("leaders/take", topic=topic, partition=partition)

    async def bump_epoch(self, topic: str, partition: int = 0) -> None:
        """Raises the leader epoch, with the same leader."""
        await self._post_action("leaders/bump-epoch", topic=topic, partition=partition)

    async def elect(self, topic: str, partition: int = 0, *, unclean: bool = False) -> None:
        """Holds a preferred election, or an unclean one."""
        await self._post_action("leaders/elect", topic=topic, partition=partition, unclean=unclean)

    async def hold_elections(self) -> None:
        """Stops elections: partitions that lose their leader stay without one."""
        await self._post_action("elections/hold")

    async def release_elections(self) -> None:
        """Allows elections again, and holds those that are due."""
        await self._post_action("elections/release")

    async def hold_metadata(self, broker: int) -> None:
        """Keeps metadata changes from a broker, which goes on with the leaders that it knows."""
        await self._post_action("metadata/hold", broker=broker)

    async def release_metadata(self, broker: int) -> None:
        """Gives the broker the metadata changes that it missed."""
        await self._post_action("metadata/release", broker=broker)


class Cluster(BlockingFront[AsyncCluster]):
    """`kafka.cluster`: the methods of `AsyncCluster`, which block."""

    stop = blocking(AsyncCluster.stop)
    kill = blocking(AsyncCluster.kill)
    start = blocking(AsyncCluster.start)
    pause = blocking(AsyncCluster.pause)
    resume = blocking(AsyncCluster.resume)
    fence = blocking(AsyncCluster.fence)
    unfence = blocking(AsyncCluster.unfence)
    pause_follower = blocking(AsyncCluster.pause_follower)
    resume_follower = blocking(AsyncCluster.resume_follower)
    slow_follower = blocking(AsyncCluster.slow_follower)
    shrink_isr = blocking(AsyncCluster.shrink_isr)
    expand_isr = blocking(AsyncCluster.expand_isr)
    move_leader = blocking(AsyncCluster.move_leader)
    move_coordinator = blocking(AsyncCluster.move_coordinator)
    take_leader = blocking(AsyncCluster.take_leader)
    bump_epoch = blocking(AsyncCluster.bump_epoch)
    elect = blocking(AsyncCluster.elect)
    hold_elections = blocking(AsyncCluster.hold_elections)
    release_elections = blocking(AsyncCluster.release_elections)
    hold_metadata = blocking(AsyncCluster.hold_metadata)
    release_metadata = blocking(AsyncCluster.release_metadata)
