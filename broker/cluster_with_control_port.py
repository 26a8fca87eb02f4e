"""A cluster for tests: faults in any broker, one clock, one log, and operations on brokers and replicas.

Requests name a broker by its id, or by its role for partition 0 of a topic: `leader_of`, or `follower_of` (the first in
the ISR).
"""

from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from types import TracebackType
from typing import Any, Protocol, Self

from ..config import HostPort
from ..network.clock import Clock
from ..storage.files.files import Files
from .broker import Broker
from .broker_cluster import BrokerCluster, Election
from .failed_brokers import FailedBrokers
from .faults.control_operation import Answer, ControlOperation, Fields, Reader
from .faults.control_requests import Control
from .faults.disk_faults import FaultyDisk
from .faults.fault_fields import WrongFault
from .faults.field_parsers import parse_count, parse_duration_ms, parse_flag, parse_int, parse_name, parse_text
from .http.control_port import ControlPort
from .scheduling.movable_clock import MovableClock
from .security.scram_credentials import ScramCredentials

Act = Callable[[Fields], Any]
BROKER: Mapping[str, Reader] = {"broker": parse_int, "leader_of": parse_text, "follower_of": parse_text}
PARTITION: Mapping[str, Reader] = {"topic": parse_text, "partition": parse_count}
REPLICA: Mapping[str, Reader] = {**BROKER, **PARTITION}


class MakeCluster(Protocol):
    """Makes the brokers, which do not run yet. Raises: ConfigError, DiskFault."""

    def __call__(
        self, *, clock: Clock, files: Callable[[int], Files], on_broker: Callable[[Broker], None]
    ) -> BrokerCluster: ...


class ControlledCluster:
    """The brokers of one process; `control` takes the requests of tests, over HTTP too if `port` is given."""

    def __init__(
        self,
        make_cluster: MakeCluster,
        *,
        clock: MovableClock | None = None,
        make_disk: Callable[[], FaultyDisk] = FaultyDisk,
        seed: int = 0,
        port: HostPort | None = None,
        token: str = "",
    ) -> None:
        """`seed` is that of faults with a probability. Raises: ConfigError, DiskFault."""
        self.control = Control(clock or MovableClock(), seed=seed, token=token)
        self._make_disk = make_disk
        self._disks: dict[int, FaultyDisk] = {}
        self.cluster = make_cluster(clock=self.control.clock, files=self._disk, on_broker=self._attach)
        self.control.running = lambda: self.cluster.brokers.values()
        self.control.on_reset = self._restore_brokers
        self.cluster.controller.on_change = partial(self.control.log_event, event="election")
        self._failed = FailedBrokers(self.cluster)
        self._add_broker_operations()
        self._wanted_port = port
        self._port = ControlPort(self.control)
        self.control_address: HostPort | None = None

    @property
    def scram_credentials(self) -> ScramCredentials:
        """The SCRAM credentials of all brokers."""
        return self.cluster.scram_credentials

    async def start(self) -> None:
        """Returns when all brokers serve. Raises: OSError, DiskFault, ConfigError."""
        await self.cluster.start()
        if self._wanted_port is not None:
            self.control_address = HostPort(*await self._port.start(self._wanted_port.host, self._wanted_port.port))

    async def stop(self) -> None:
        self.control.close()
        self.cluster.release_elections()
        await self._port.stop()
        await self._failed.wait_for_kills()
        await self.cluster.stop()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    @property
    def bootstrap(self) -> str:
        """The addresses of the brokers that run."""
        return self.cluster.bootstrap

    @property
    def http_address(self) -> HostPort | None:
        """The HTTP port of the first broker that runs."""
        return next((broker.http_address for broker in self.cluster.brokers.values()), None)

    def _disk(self, node_id: int) -> FaultyDisk:
        return self._disks.setdefault(node_id, self._make_disk())

    def _attach(self, broker: Broker) -> None:
        self.control.attach(broker, self._disk(broker.cluster.node_id))

    def _add_broker_operations(self) -> None:
        cluster = self.cluster
        for path, act, what in (
            ("brokers/stop", cluster.stop_broker, "Stops a broker in order: others lead before it ends."),
            ("brokers/kill", cluster.kill_broker, "Ends a broker at once; it is fenced when its session is over."),
            ("brokers/pause", cluster.pause_broker, "Has a broker accept and read, and answer nobody."),
            ("brokers/resume", cluster.resume_broker, "Has a broker go on."),
            ("brokers/fence", cluster.fence_broker, "Treats a broker as if its session were over."),
            ("brokers/unfence", cluster.unfence_broker, "Counts a broker as alive again."),
            ("metadata/hold", cluster.hold_metadata, "Has a broker go on with the leaders that it knows."),
            ("metadata/release", cluster.release_metadata, "Tells a broker what it missed."),
        ):
            self._add_operation(path, what, self._with_broker(act), BROKER)
        start = "Starts a broker again, on its ports and over its logs; without one all that do not run."
        self._add_operation("brokers/start", start, self._start_brokers, BROKER)
        self._add_replica_operations()
        self._add_leader_operations()

    def _add_replica_operations(self) -> None:
        cluster = self.cluster
        pause = "Stops the fetches of a follower, of a partition or of all; without a broker those of all."
        self._add_operation("followers/pause", pause, self._with_one_or_all_brokers(cluster.pause_follower), REPLICA)
        resume = "Has a follower fetch again."
        self._add_operation("followers/resume", resume, self._with_one_or_all_brokers(cluster.resume_follower), REPLICA)
        slow = "Puts off each fetch by `delay`, or lets `bytes_per_second` through; with neither it ends that."
        slowness = {**BROKER, "delay": parse_duration_ms, "bytes_per_second": parse_count}
        self._add_operation("followers/slow", slow, self._slow_follower, slowness)
        shrink, expand = "Takes a follower out of the ISR.", "Takes a replica into the ISR."
        self._add_operation("isr/shrink", shrink, self._with_replica(cluster.shrink_isr), REPLICA, "topic")
        self._add_operation("isr/expand", expand, self._with_replica(cluster.expand_isr), REPLICA, "topic")

    def _add_leader_operations(self) -> None:
        cluster = self.cluster
        move = "Makes an in-sync replica the leader; without a broker another one than now."
        self._add_operation("leaders/move", move, self._move_leader, REPLICA, "topic")
        move_coordinator = "Makes an in-sync replica of its partition the coordinator of a group or a transactional id."
        coordinated = {"group": parse_name, "transactional_id": parse_name, "broker": parse_int}
        self._add_operation("coordinators/move", move_coordinator, self._move_coordinator, coordinated)
        take = "Leaves a partition without a leader."
        self._add_operation("leaders/take", take, _with_partition(cluster.take_leader), PARTITION, "topic")
        bump = "Begins a new epoch of the same leader."
        self._add_operation("leaders/bump-epoch", bump, _with_partition(cluster.bump_epoch), PARTITION, "topic")
        elect = "Holds a preferred election, or an `unclean` one."
        self._add_operation("leaders/elect", elect, self._elect, {**PARTITION, "unclean": parse_flag}, "topic")
        hold = "Leaves partitions that lose their leader without one."
        self._add_operation("elections/hold", hold, lambda fields: cluster.hold_elections(), {})
        self._add_operation(
            "elections/release", "Elects leaders again.", lambda fields: cluster.release_elections(), {}
        )

    def _with_broker(self, act: Callable[[int], Any]) -> Act:
        return lambda fields: act(self._read_broker_id(fields))

    def _with_one_or_all_brokers(self, act: Callable[[int, str | None, int], Any]) -> Act:
        def act_on_each(fields: Fields) -> None:
            if "topic" in fields:
                self.cluster.leader(*_read_partition(fields))  # raises where there is no such partition
            elif "partition" in fields:
                raise ValueError("topic is missing, of which the partition is")
            brokers = [self._read_broker_id(fields)] if _has_broker_field(fields) else sorted(self.cluster.brokers)
            for broker in brokers:
                act(broker, fields.get("topic"), fields.get("partition", 0))

        return act_on_each

    def _with_replica(self, act: Callable[[str, int, int], Any]) -> Act:
        return lambda fields: act(*_read_partition(fields), self._read_broker_id(fields))

    def _add_operation(self, path: str, what: str, act: Act, readers: Mapping[str, Reader], *needs: str) -> None:
        async def answer(fields: Fields) -> Answer:
            try:
                named = {"broker": self._read_broker_id(fields)} if _has_role_field(fields) else {}
                meant = [self._read_broker_id(fields)] if _has_broker_field(fields) else self.cluster.node_ids
                done = act(fields)
                if isinstance(done, Coroutine):
                    await done
                for broker in meant:
                    self.control.note_broker(path, broker)
                await self.cluster.sync_metadata()
            except ValueError as fault:  # no such broker, or not in that state
                raise WrongFault(str(fault)) from None
            self.control.log_event(f"{path}{''.join(f' {key} {value}' for key, value in {**fields, **named}.items())}")
            return {"brokers": sorted(self.cluster.brokers)}

        self.control.add(ControlOperation(path=path, what=what, act=answer, fields=readers, needs=needs))

    # What the fields name

    def _read_broker_id(self, fields: Fields) -> int:
        """The id of the broker that the fields name. Raises: ValueError."""
        named = [each for each in BROKER if each in fields]
        if len(named) > 1:
            raise ValueError(f"one of {', '.join(named)} names the broker, not {len(named)}")
        if "broker" in fields:
            return int(fields["broker"])
        if "leader_of" in fields:
            return self.cluster.leader(fields["leader_of"], 0)
        if "follower_of" in fields:
            return self._in_sync_followers(fields["follower_of"], 0)[0]
        raise ValueError("broker is missing, or leader_of, or follower_of")

    def _in_sync_followers(self, topic: str, partition: int) -> list[int]:
        """The in-sync replicas but for the leader. Raises: ValueError where there is none."""
        leader = self.cluster.leader(topic, partition)
        others = [each for each in self.cluster.isr(topic, partition) if each != leader]
        if not others:
            raise ValueError(f"no follower of {topic}-{partition} is in sync")
        return others

    def _move_leader(self, fields: Fields) -> None:
        broker = (
            self._read_broker_id(fields)
            if _has_broker_field(fields)
            else self._in_sync_followers(*_read_partition(fields))[0]
        )
        self.cluster.move_leader(*_read_partition(fields), broker)

    def _move_coordinator(self, fields: Fields) -> None:
        topic, partition = self.control.topics_and_groups.coordinating_partition(fields)
        broker = fields["broker"] if "broker" in fields else self._in_sync_followers(topic, partition)[0]
        self.cluster.move_leader(topic, partition, broker)

    def _slow_follower(self, fields: Fields) -> None:
        self.cluster.slow_follower(
            self._read_broker_id(fields),
            delay_ms=fields.get("delay", 0),
            bytes_per_second=fields.get("bytes_per_second", 0),
        )

    def _elect(self, fields: Fields) -> None:
        self.cluster.elect(*_read_partition(fields), Election.UNCLEAN if fields.get("unclean") else Election.PREFERRED)

    async def _restore_brokers(self) -> None:
        """Starts, resumes and unfences all brokers, and gives them the metadata that they missed."""
        self.cluster.release_elections()
        await self._start_brokers({})
        for broker in self.cluster.node_ids:
            self.cluster.resume_broker(broker)
            self.cluster.release_metadata(broker)
            self.cluster.unfence_broker(broker)
            self.cluster.slow_follower(broker)

    async def _start_brokers(self, fields: Fields) -> None:
        stopped = [each for each in self.cluster.node_ids if each not in self.cluster.brokers]
        wanted = [self._read_broker_id(fields)] if _has_broker_field(fields) else stopped
        for broker in wanted:
            await self.cluster.start_broker(broker)


def _has_role_field(fields: Fields) -> bool:
    """Whether the fields name a broker by its role, not by its id."""
    return "broker" not in fields and _has_broker_field(fields)


def _has_broker_field(fields: Fields) -> bool:
    return any(each in fields for each in BROKER)


def _with_partition(act: Callable[[str, int], Any]) -> Act:
    return lambda fields: act(*_read_partition(fields))


def _read_partition(fields: Fields) -> tuple[str, int]:
    return fields["topic"], fields.get("partition", 0)
