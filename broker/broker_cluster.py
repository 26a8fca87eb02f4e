"""A cluster in a process: several brokers in one event loop, and their controller.

    cluster = BrokerCluster.of("data", brokers=3)
    async with cluster:
        cluster.bootstrap                              "127.0.0.1:40001,127.0.0.1:40002,127.0.0.1:40003"
        await cluster.stop_broker(1)                   controlled: its leaderships move first
        await cluster.kill_broker(2)                   connections are reset; fenced after broker.session.timeout.ms
        await cluster.start_broker(2)                  on the same ports, over what the kill left
        cluster.pause_broker(3); cluster.resume_broker(3)     it accepts and reads, and answers nobody
        cluster.fence_broker(2); cluster.unfence_broker(2)    as if its session were over; alive again
        cluster.pause_follower(3, "orders", 0); cluster.resume_follower(3, "orders", 0)    without topic: all
        cluster.slow_follower(3, delay_ms=200)         0 ends that
        cluster.shrink_isr("orders", 0, 3); cluster.expand_isr("orders", 0, 3)
        cluster.move_leader("orders", 0, 2)            to an in-sync replica; the epoch rises
        cluster.bump_epoch("orders", 0)                the same leader in a new epoch
        cluster.take_leader("orders", 0)               leaderless, until an election
        cluster.elect("orders", 0, Election.PREFERRED) or Election.UNCLEAN
        cluster.hold_elections(); cluster.release_elections()
        cluster.hold_metadata(1); cluster.release_metadata(1)     broker 1 goes on with what it knew

Each broker has its own ports and log directories; Kafka, or stepdown as a single broker, can open the directories
later. The controller stores its state in Kafka's metadata log, `__cluster_metadata-0`, beside them. All time comes from
the clock, nothing polls, and random choices come from the seed: the same calls at the same times give the same run. Not
for production: one process is one point of failure.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from ..config import BrokerSettings, Given, Layers, Origin, StartupSettings, load, topic_settings
from ..network.clock import Clock, LoopClock
from ..protocol.errors import ApiError, ErrorCode
from ..storage.directories.directory_check import check_cluster_directory
from ..storage.directories.log_directory import make_log_directory
from ..storage.directories.meta_properties import read_meta_properties
from ..storage.files.files import Files
from ..storage.metadata.cluster_state import StoredTopic
from ..storage.metadata.metadata_store import MetadataStore
from .broker import Broker
from .controller.controller import Controller
from .controller.partition_change import Election
from .dispatch.suspended_broker import Suspension
from .held_ports import HeldPorts
from .replication.replicas import Replicas
from .replication.topics import ReplicatedTopics
from .scheduling.periodic_task import Periodic
from .security.scram_credentials import ScramCredentials
from .topics_at_start import create_topics_of_settings

__all__ = ["BrokerCluster", "Election"]

SECOND_MS = 1000
MOST_REPLICAS = 3
REPLICATION_FACTORS = (
    "default.replication.factor",
    "offsets.topic.replication.factor",
    "transaction.state.log.replication.factor",
)
ORIGIN = Origin("the cluster")
START = "kafka.cluster.start({}), or POST /brokers/start, starts it"

LoadSettings = Callable[[Sequence[Given]], StartupSettings]
"""Loads the settings of a broker; the given ones override those of all brokers."""

log = logging.getLogger(__name__)


class _Member:
    """One broker of the cluster, running or not, and what outlives each of its runs."""

    def __init__(self, node_id: int, loaded: StartupSettings) -> None:
        self.node_id = node_id
        self.loaded = loaded
        self.ports = HeldPorts(loaded.settings.listeners)
        self.broker: Broker | None = None
        self.pause = Suspension()

    @property
    def topics(self) -> ReplicatedTopics:
        topics = self.running.topics
        assert isinstance(topics, ReplicatedTopics)
        return topics

    @property
    def running(self) -> Broker:
        """Raises: ValueError when it does not run."""
        if self.broker is None:
            raise ValueError(f"broker {self.node_id} does not run: {START.format(self.node_id)}")
        return self.broker


class BrokerCluster:
    """Brokers 1 to n, or with the ids of `members`.

    `clock` and `files` are for tests; `seed` is that of random placements.

    Every broker has the same settings but for ids, ports, directories and rack.
    """

    def __init__(
        self,
        directory: str | Path,
        members: Mapping[int, LoadSettings],
        *,
        clock: Clock | None = None,
        files: Callable[[int], Files] | None = None,
        seed: int = 0,
        on_broker: Callable[[Broker], None] | None = None,
    ) -> None:
        """`on_broker` is called with each broker before it starts. Raises: ConfigError, DiskFault."""
        self._on_broker = on_broker or (lambda _: None)
        self.on_failed: Callable[[int], object] = lambda _: None
        """Called with the id of a broker that has failed; the owner of the cluster then stops it."""
        self.clock: Clock = clock or LoopClock()
        self._files = files or (lambda _: Files())
        self._load = dict(members)
        self._members = {node_id: _Member(node_id, load(())) for node_id, load in members.items()}
        self._peers: dict[int, Replicas] = {}
        self._periodic: list[Periodic] = []
        first = next(iter(self._members.values())).loaded
        own_files = self._files(0)
        self._cluster_id = _find_cluster_id(self._members.values(), own_files)
        store = _open_metadata_store(Path(directory), own_files, self.clock, first.settings)
        self.controller = Controller(
            store,
            self.clock,
            session_timeout_ms=first.settings.broker_session_timeout_ms,
            is_unclean_election_enabled=partial(_is_unclean_election_enabled, first.layers, store),
            seed=seed,
        )
        for node_id, member in self._members.items():
            self.controller.brokers.announce(node_id, member.loaded.settings.broker_rack)

    @classmethod
    def of(
        cls,
        directory: str | Path,
        brokers: int = 3,
        *,
        settings: Mapping[str, str] | None = None,
        racks: Sequence[str] = (),
        clock: Clock | None = None,
        files: Callable[[int], Files] | None = None,
        seed: int = 0,
        on_broker: Callable[[Broker], None] | None = None,
    ) -> Self:
        """A cluster on free ports of 127.0.0.1, in `directory`; `settings`, by Kafka's names, hold for all brokers."""
        texts = {"listeners": "PLAINTEXT://127.0.0.1:0", **(settings or {})}
        overrides = [f"{key}={text}" for key, text in texts.items()]

        def loading(node_id: int) -> LoadSettings:
            own = own_settings(node_id, directory, racks[(node_id - 1) % len(racks)] if racks else None)
            return lambda more: load(overrides=[*overrides, *(f"{each.key}={each.text}" for each in (*own, *more))])

        members = {node_id: loading(node_id) for node_id in range(1, brokers + 1)}
        return cls(directory, members, clock=clock, files=files, seed=seed, on_broker=on_broker)

    # Life

    async def start(self) -> None:
        """Returns when all brokers serve. Raises: OSError, DiskFault, ConfigError; none runs then."""
        self.controller.clear_leaders_at_start()
        try:
            for node_id in self._members:
                await self.start_broker(node_id)
            await create_topics_of_settings(self._any_broker())
        except BaseException:
            await self.stop()
            raise
        self._periodic.append(Periodic("sync of metadata", self.clock, self.sync_metadata, SECOND_MS))
        settings = self._any_broker().settings
        if settings.auto_leader_rebalance_enable:
            interval_ms = settings.leader_imbalance_check_interval_seconds * SECOND_MS
            self._periodic.append(Periodic("leader balance", self.clock, self._elect_preferred_leaders, interval_ms))

    async def stop(self) -> None:
        """Stops all brokers. Leaders and ISRs stay stored as they are, for the next start."""
        for task in self._periodic:
            await task.stop()
        self._periodic.clear()
        self.controller.brokers.close()
        for member in self._members.values():
            if member.broker is not None:
                member.pause.end()
                broker = self._take_out_broker(member)
                self.controller.forget_member(member.node_id)
                await broker.stop()
            member.ports.release()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start_broker(self, node_id: int) -> Broker:
        """Starts a broker that does not run, over its directories, on the ports that it had.

        Raises: OSError, DiskFault; ValueError when it runs.
        """
        member = self._member(node_id)
        if member.broker is not None:
            raise ValueError(f"broker {node_id} runs already")
        if self.controller.brokers.is_active(node_id):
            self.controller.fence(node_id)  # without waiting until the session of its last run is over
        member.ports.hold()
        loaded = self._load[node_id](self._settings_of_ports_and_cluster_id(member))
        member.pause = Suspension()
        broker = Broker(
            loaded.settings,
            loaded.layers,
            clock=self.clock,
            files=self._files(node_id),
            make_topics=partial(ReplicatedTopics, controller=self.controller, peers=self._peers),
        )
        broker.find_peer = self._reachable_broker
        broker.on_failed = lambda: self.on_failed(node_id)
        self._on_broker(broker)
        with member.ports.let_broker_listen():
            await broker.start()
        member.broker = broker
        self._peers[node_id] = member.topics.replicas
        member.topics.replicas.start()
        self._cluster_id = broker.cluster.cluster_id
        self.controller.unfence(broker.cluster.brokers[node_id], member.topics)
        member.topics.replicas.fetcher.resume()  # fetches before `unfence` could not add it to an ISR
        return broker

    async def stop_broker(self, node_id: int) -> None:
        """A controlled shutdown: its partitions get other leaders before it stops serving.

        Raises: ValueError when it does not run.
        """
        member = self._member(node_id)
        broker = member.running
        self.resume_broker(node_id)
        self.controller.begin_controlled_shutdown(node_id)
        self._take_out_broker(member)
        await broker.stop()
        self.controller.complete_controlled_shutdown(node_id)

    async def kill_broker(self, node_id: int) -> None:
        """Ends a broker at once; it is fenced when its session is over. Raises: ValueError."""
        member = self._member(node_id)
        broker = member.running
        member.topics.replicas.pause()
        self._take_out_broker(member)
        self.controller.forget_member(node_id)
        self.controller.begin_session_expiry(node_id)
        member.pause.end()
        await broker.kill()

    def pause_broker(self, node_id: int) -> None:
        """Suspends a broker, as SIGSTOP would. Requests that are parked already may still be answered.

        It is fenced after `broker.session.timeout.ms`. Raises: ValueError when it does not run.
        """
        member = self._member(node_id)
        broker = member.running
        if member.pause.is_on:
            return
        member.pause.begin()
        broker.interceptors.append(member.pause)
        member.topics.replicas.pause()
        self.controller.hold_metadata(node_id)
        self.controller.begin_session_expiry(node_id)

    def resume_broker(self, node_id: int) -> None:
        """Resumes a paused broker. Raises: ValueError when it does not run."""
        member = self._member(node_id)
        broker = member.running
        if not member.pause.is_on:
            return
        broker.interceptors.remove(member.pause)
        self.controller.release_metadata(node_id)
        self.controller.resume_session(node_id)
        member.topics.replicas.resume()
        member.pause.end()

    def fence_broker(self, node_id: int) -> None:
        """Fences a broker, as if its session were over."""
        self.controller.fence(self._member(node_id).node_id)

    def unfence_broker(self, node_id: int) -> None:
        """Unfences a running broker. Raises: ValueError when it does not run, or is paused."""
        member = self._member(node_id)
        fetcher = member.topics.replicas.fetcher
        if member.pause.is_on:
            raise ValueError(f"broker {node_id} is paused: resume it")
        self.controller.resume_session(node_id)
        fetcher.resume()  # fetches while it was fenced could not add it to an ISR

    def _reachable_broker(self, node_id: int) -> Broker | None:
        peer = self._peers.get(node_id)
        return self.brokers.get(node_id) if peer is not None and peer.is_reachable else None

    def _settings_of_ports_and_cluster_id(self, member: _Member) -> list[Given]:
        """The settings of a broker's ports, and of the cluster's id once a broker has started."""
        texts = {"listeners": ",".join(map(str, member.ports.listeners))}
        if self._cluster_id is not None:
            texts["stepdown.cluster.id"] = self._cluster_id
        return [Given(key, text, ORIGIN) for key, text in texts.items()]

    def _take_out_broker(self, member: _Member) -> Broker:
        broker = member.running
        self._peers.pop(member.node_id, None)
        member.broker = None
        return broker

    async def _elect_preferred_leaders(self) -> None:
        self.controller.elect_preferred_leaders()

    async def sync_metadata(self) -> None:
        """Returns when the controller's decisions and the folders of new replicas are on the disk. Raises:

        DiskFault.
        """
        if self.brokers:
            await self._any_broker().topics.sync_metadata()

    # What is there

    @property
    def node_ids(self) -> list[int]:
        """The ids of all brokers, also of those that do not run."""
        return list(self._members)

    @property
    def brokers(self) -> dict[int, Broker]:
        """The brokers that run, by id."""
        return {node_id: each.broker for node_id, each in self._members.items() if each.broker is not None}

    @property
    def bootstrap(self) -> str:
        """The addresses of the first listener of all brokers that run."""
        return ",".join(str(broker.address) for broker in self.brokers.values())

    @property
    def scram_credentials(self) -> ScramCredentials:
        """The SCRAM credentials of all brokers, once one runs."""
        return self._any_broker().scram_credentials

    def leader(self, topic: str, partition: int) -> int:
        """The id of the leader, -1 for none. Raises: ApiError UNKNOWN_TOPIC_OR_PARTITION."""
        return self.controller.partition_record(topic, partition).leader

    def isr(self, topic: str, partition: int) -> tuple[int, ...]:
        """The ids of the in-sync replicas. Raises: ApiError UNKNOWN_TOPIC_OR_PARTITION."""
        return self.controller.partition_record(topic, partition).isr

    def _member(self, node_id: int) -> _Member:
        member = self._members.get(node_id)
        if member is None:
            raise ValueError(f"there is no broker {node_id}, only {sorted(self._members)}")
        return member

    def _any_broker(self) -> Broker:
        return next(iter(self.brokers.values()))

    # Followers

    def pause_follower(self, node_id: int, topic: str | None = None, partition: int = 0) -> None:
        """Stops the broker's fetches of a partition, or of all."""
        self._member(node_id).topics.replicas.fetcher.pause(None if topic is None else (topic, partition))

    def resume_follower(self, node_id: int, topic: str | None = None, partition: int = 0) -> None:
        """Lets the broker fetch again."""
        self._member(node_id).topics.replicas.fetcher.resume(None if topic is None else (topic, partition))

    def slow_follower(self, node_id: int, *, delay_ms: int = 0, bytes_per_second: int = 0) -> None:
        """Delays each fetch of the broker by `delay_ms`, and so that it fetches at most `bytes_per_second`."""
        fetcher = self._member(node_id).topics.replicas.fetcher
        fetcher.delay_ms, fetcher.bytes_per_second = delay_ms, bytes_per_second

    def shrink_isr(self, topic: str, partition: int, node_id: int) -> None:
        """Takes a follower out of the ISR; one that is caught up comes back with its next fetch. Raises: ApiError."""
        isr = self.isr(topic, partition)
        self.controller.put_isr(topic, partition, tuple(each for each in isr if each != node_id))

    def expand_isr(self, topic: str, partition: int, node_id: int) -> None:
        """Takes a replica into the ISR, caught up or not. Raises: ApiError."""
        self.controller.put_isr(topic, partition, (*self.isr(topic, partition), node_id))

    # Leaders

    def move_leader(self, topic: str, partition: int, node_id: int) -> None:
        """Makes an in-sync replica the leader. Raises: ApiError."""
        self.controller.move_leader(topic, partition, node_id)

    def bump_epoch(self, topic: str, partition: int) -> None:
        """Begins a new epoch of the present leader. Raises: ApiError."""
        self.controller.move_leader(topic, partition, self.leader(topic, partition))

    def take_leader(self, topic: str, partition: int) -> None:
        """Leaves a partition without a leader until `move_leader` or an election. Raises: ApiError."""
        self.controller.remove_leader(topic, partition)

    def elect(self, topic: str, partition: int, election: Election = Election.PREFERRED) -> None:
        """A preferred or an unclean election. Raises: ApiError ELECTION_NOT_NEEDED, or nobody can be elected."""
        self.controller.elect(topic, partition, election)

    def hold_elections(self) -> None:
        """Partitions that lose their leader stay without one until `release_elections`."""
        self.controller.hold_elections()

    def release_elections(self) -> None:
        self.controller.release_elections()

    # Metadata

    def hold_metadata(self, node_id: int) -> None:
        """Keeps the controller's decisions from a broker: it answers and acts by what it knew before."""
        self.controller.hold_metadata(self._member(node_id).node_id)

    def release_metadata(self, node_id: int) -> None:
        self.controller.release_metadata(self._member(node_id).node_id)


def own_settings(node_id: int, directory: str | Path, rack: str | None = None) -> list[Given]:
    """The settings that differ from broker to broker; the caller adds those that all share."""
    texts = {
        "node.id": str(node_id),
        "log.dirs": str(Path(directory) / f"broker-{node_id}"),
        "metadata.log.dir": str(Path(directory) / f"broker-{node_id}"),  # stays empty: the cluster keeps the metadata
        "stepdown.http.listen": "127.0.0.1:0",
    }
    if rack is not None:
        texts["broker.rack"] = rack
    return [Given(key, text, ORIGIN) for key, text in texts.items()]


def _find_cluster_id(members: Iterable[_Member], files: Files) -> str | None:
    """The first cluster id in the settings or the log directories of a member. Raises: DiskFault."""
    for member in members:
        settings = member.loaded.settings
        if settings.stepdown_cluster_id is not None:
            return settings.stepdown_cluster_id
        for directory in settings.log_dirs:
            found = read_meta_properties(files, directory)
            if found is not None and found.cluster_id is not None:
                return found.cluster_id
    return None


def _open_metadata_store(directory: Path, files: Files, clock: Clock, settings: BrokerSettings) -> MetadataStore:
    """Raises: DiskFault; ApiError when there are partitions but no metadata."""
    check_cluster_directory(files, files.absolute(str(directory)))
    make_log_directory(files, str(directory))
    snapshot_bytes = settings.metadata_log_max_record_bytes_between_snapshots
    store = MetadataStore.open(files, [str(directory)], clock, snapshot_bytes=snapshot_bytes)
    if store.is_new and (found := sorted(directory.glob("broker-*/*-*/partition.metadata"))):
        message = (
            f"{found[0].parent} is a partition, but {store.log.folder} is missing: put it back, or move the data away"
        )
        raise ApiError(message, ErrorCode.KAFKA_STORAGE_ERROR)
    return store


def _is_unclean_election_enabled(static: Layers, store: MetadataStore, topic: StoredTopic) -> bool:
    layers = replace(static, cluster=store.state.cluster_configs)
    return topic_settings(layers, topic.configs).unclean_leader_election_enable


def replication_factor_settings(brokers: int) -> dict[str, str]:
    """The replication factors of a cluster by default: a replica on each broker, but three at most."""
    return dict.fromkeys(REPLICATION_FACTORS, str(min(brokers, MOST_REPLICAS)))
