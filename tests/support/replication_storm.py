"""Random steps against a cluster, and a small model of what may never happen.

    python -m support.replication_storm 0 1000          from tests/: these seeds; ends at the first that breaks a rule

What was acknowledged with acks=all is there, with clean elections, whatever else happens; what a consumer has seen at
an offset, on any broker, is there for good; a consumer sees no uncommitted offset; replicas agree below the high
watermark, which never goes back on a leader. The steps are drawn from the seed, so a seed that fails fails again.
"""

import asyncio
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from stepdown.broker.broker_cluster import BrokerCluster
from stepdown.broker.replication import fetcher
from stepdown.broker.replication.fetch_between_replicas import ReplicaFetch, answer_fetch
from stepdown.broker.replication.replicated_partition import ReplicatedPartition
from stepdown.protocol.errors import ApiError, ErrorCode

from .brokers import begin_produce, create_topic, fetched, running_cluster, values_in
from .clock import ManualClock, settle
from .deadline import JOB_DEADLINE_S

STEPS = 40
IDS = (1, 2, 3)
TOPIC = "t"
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None


class Broken(AssertionError):
    """A rule of the model does not hold."""


class Storm:
    """One run: the cluster, what was written, what was promised, what was seen."""

    def __init__(self, cluster: BrokerCluster, clock: ManualClock, lots: Random) -> None:
        self.cluster = cluster
        self.clock = clock
        self.lots = lots
        self.written = 0
        self.pending: list[tuple[str, int, asyncio.Task[Any]]] = []
        self.promised: dict[int, str] = {}
        self.seen: dict[int, str] = {}
        self.paused: set[int] = set()
        self.marks: dict[tuple[int, int], int] = {}

    async def run(self) -> None:
        steps = (
            *[self.produce] * 8, *[self.consume] * 3, *[self.pause_follower] * 2, *[self.resume_follower] * 3,
            *[self.move_leader] * 2, self.elect, self.kill, self.stop, *[self.start] * 3, self.pause_broker,
            *[self.resume_broker] * 2, *[self.advance] * 3, self.shrink, self.hold, self.release, self.fence,
        )  # fmt: skip
        for _ in range(STEPS):
            with suppress(ApiError):  # it cannot be done now
                await self.lots.choice(steps)()
            if self.lots.random() < 0.7:
                await settle(self.lots.choice((1, 3, 12)))
            self.check()
        await self.heal()
        await self.write_on()
        self.check()
        await self.check_all_is_there()

    # Steps

    def partitions(self) -> dict[int, ReplicatedPartition]:
        found = {}
        for node_id, broker in self.cluster.brokers.items():
            partition = broker.cluster.partition(TOPIC, 0)
            assert isinstance(partition, ReplicatedPartition)
            found[node_id] = partition
        return found

    def running(self) -> int:
        return self.lots.choice(sorted(self.cluster.brokers) or [0])

    async def produce(self) -> None:
        """To whom believes that it leads, as a client with old metadata may."""
        leaders = [node_id for node_id, each in self.partitions().items() if each.is_leader]
        if not leaders:
            return
        node_id = self.lots.choice(leaders)
        self.written += 1
        value, acks = f"v{self.written}", self.lots.choice((-1, -1, 1))
        task = await begin_produce(self.cluster.brokers[node_id], TOPIC, value, acks=acks, timeout_ms=5000)
        self.pending.append((value, acks, task))

    async def consume(self) -> None:
        node_id = self.running()
        if node_id and node_id not in self.paused:
            found = await fetched(self.cluster.brokers[node_id], TOPIC)
            if found.error_code == ErrorCode.NONE:
                self.see(values_in(found.records), found.high_watermark)

    def see(self, values: dict[int, str], high_watermark: int) -> None:
        for offset, value in values.items():
            if offset >= high_watermark:
                raise Broken(f"offset {offset} was read, the high watermark is {high_watermark}")
            if self.seen.setdefault(offset, value) != value:
                raise Broken(f"offset {offset} was {self.seen[offset]} and is {value}")

    async def pause_follower(self) -> None:
        if node_id := self.running():
            self.cluster.pause_follower(node_id)

    async def resume_follower(self) -> None:
        if node_id := self.running():
            self.cluster.resume_follower(node_id)

    async def move_leader(self) -> None:
        self.cluster.move_leader(TOPIC, 0, self.lots.choice(IDS))

    async def elect(self) -> None:
        self.cluster.elect(TOPIC, 0)

    async def kill(self) -> None:
        if len(self.cluster.brokers) > 1:
            node_id = self.running()
            self.paused.discard(node_id)
            await self.cluster.kill_broker(node_id)

    async def stop(self) -> None:
        if len(self.cluster.brokers) > 1:
            node_id = self.running()
            self.paused.discard(node_id)
            await self.cluster.stop_broker(node_id)

    async def start(self) -> None:
        down = [node_id for node_id in IDS if node_id not in self.cluster.brokers]
        if down:
            await self.cluster.start_broker(self.lots.choice(down))

    async def pause_broker(self) -> None:
        if node_id := self.running():
            self.paused.add(node_id)
            self.cluster.pause_broker(node_id)

    async def resume_broker(self) -> None:
        if self.paused:
            self.cluster.resume_broker(self.lots.choice(sorted(self.paused)))
            self.paused = {node_id for node_id in self.paused if self.cluster._members[node_id].pause.is_on}

    async def advance(self) -> None:
        await self.clock.advance(self.lots.choice((100, 1000, 5000, 9000, 16_000)))

    async def shrink(self) -> None:
        self.cluster.shrink_isr(TOPIC, 0, self.lots.choice(IDS))

    async def hold(self) -> None:
        if node_id := self.running():
            self.cluster.hold_metadata(node_id)

    async def release(self) -> None:
        for node_id in self.cluster.brokers:
            if node_id not in self.paused:
                self.cluster.release_metadata(node_id)

    async def fence(self) -> None:
        if node_id := self.running():
            self.cluster.fence_broker(node_id)
            await settle(2)
            self.cluster.controller.resume_session(node_id)

    async def heal(self) -> None:
        """Everybody runs, hears and fetches again."""
        for node_id in IDS:
            if node_id not in self.cluster.brokers:
                await self.cluster.start_broker(node_id)
            self.cluster.resume_broker(node_id)
            self.cluster.release_metadata(node_id)
            self.cluster.controller.resume_session(node_id)
        for node_id in IDS:
            self.cluster.resume_follower(node_id)
        await settle(200)
        for _ in range(4):
            await self.clock.advance(16_000)
        self.paused.clear()

    async def write_on(self) -> None:
        """Once healed, acks=all is answered at once; who lags leaves the ISR, and comes back."""
        leader = self.cluster.leader(TOPIC, 0)
        if leader < 0:
            raise Broken("there is no leader after all has healed")
        lagging = leader % len(IDS) + 1
        last = await begin_produce(self.cluster.brokers[leader], TOPIC, "last")
        await settle(200)
        if not last.done() or last.result().error_code != ErrorCode.NONE:  # type: ignore[union-attr]
            raise Broken(f"acks=all was not acknowledged after all has healed: {last}")
        self.cluster.pause_follower(lagging)
        await begin_produce(self.cluster.brokers[leader], TOPIC, "later", acks=1)
        await self.clock.advance(46_000)
        if lagging in self.cluster.isr(TOPIC, 0):
            raise Broken(f"broker {lagging} lags for 46 s and is in sync")
        self.cluster.resume_follower(lagging)
        await settle(200)

    # Rules

    def check(self) -> None:
        for value, acks, task in list(self.pending):
            if task.done():
                self.pending.remove((value, acks, task))
                answer = task.result()
                is_promise = acks == -1 and answer is not None and answer.error_code == ErrorCode.NONE
                if is_promise and self.promised.setdefault(answer.base_offset, value) != value:
                    raise Broken(f"offset {answer.base_offset} was given to two records")
        replicas = self.partitions()
        contents = {node_id: (values_of(each), each.high_watermark) for node_id, each in replicas.items()}
        for node_id, partition in replicas.items():
            if partition.high_watermark > partition.log.log_end_offset:
                raise Broken(f"broker {node_id}: the high watermark is behind the end of the log")
            if partition.is_leader:
                key = (node_id, partition.leader_epoch)
                if partition.high_watermark < self.marks.get(key, 0):
                    raise Broken(f"broker {node_id}: the high watermark went back as a leader")
                self.marks[key] = partition.high_watermark
        for node_id, (values, mark) in contents.items():
            for offset, value in values.items():
                if offset < mark and self.seen.setdefault(offset, value) != value:
                    raise Broken(f"broker {node_id} has {value} committed at {offset}, it was {self.seen[offset]}")
        self._check_promises()
        self._check_fences(replicas)

    def _check_fences(self, replicas: dict[int, ReplicatedPartition]) -> None:
        """Only a leader answers followers, and only those of its epoch."""
        for node_id, partition in replicas.items():
            follower = next(each for each in IDS if each != node_id)
            for epoch in {partition.leader_epoch - partition.is_leader, partition.leader_epoch + partition.is_leader}:
                ask = ReplicaFetch(
                    follower=follower, offset=0, last_epoch=-1, leader_epoch=max(0, epoch), log_start_offset=0
                )
                with suppress(ApiError):
                    if max(0, epoch) != partition.leader_epoch or not partition.is_leader:
                        answer_fetch(partition, ask, 1)
                        raise Broken(f"broker {node_id} answers a follower of epoch {epoch}")

    def _check_promises(self) -> None:
        for offset, value in self.promised.items():
            if self.seen.get(offset, value) != value:
                raise Broken(f"{value} was acknowledged at {offset}, where {self.seen[offset]} is committed")

    async def check_all_is_there(self) -> None:
        """After all has healed: one leader, everybody in sync with the same log, which has all promises."""
        leader = self.cluster.leader(TOPIC, 0)
        if leader < 0 or set(self.cluster.isr(TOPIC, 0)) != set(IDS):
            raise Broken(f"not healed: leader {leader}, ISR {self.cluster.isr(TOPIC, 0)}")
        logs = {node_id: values_of(each) for node_id, each in self.partitions().items()}
        if any(log != logs[leader] for log in logs.values()):
            raise Broken(f"the logs differ: {logs}")
        marks = {each.high_watermark for each in self.partitions().values()}
        if marks != {self.partitions()[leader].log.log_end_offset}:
            raise Broken(f"the high watermarks are {marks}, the log ends at {len(logs[leader])}")
        for offset, value in {**self.seen, **self.promised}.items():
            if logs[leader].get(offset) != value:
                raise Broken(f"{value}, promised or seen at {offset}, is lost: {logs[leader].get(offset)} is there")
        if self.pending:
            raise Broken(f"{len(self.pending)} requests were never answered")


def values_of(partition: ReplicatedPartition) -> dict[int, str]:
    end = partition.log.log_end_offset
    return values_in(partition.log.read(partition.log.log_start_offset, 1 << 20, below=end, min_one_message=True))


async def storm(seed: int) -> None:
    """Raises: Broken."""
    lots, clock = Random(seed), ManualClock()
    fetcher.STEPS_A_RUN = 1  # a batch at a time, and others in between
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        settings: dict[str, object] = {
            "log_cleaner_enable": "false", "auto_leader_rebalance_enable": "false",
            "stepdown_shutdown_grace_ms": 0, "replica_fetch_max_bytes": 1,
        }  # fmt: skip
        async with running_cluster(Path(folder), clock=clock, seed=seed, **settings) as cluster:
            await create_topic(cluster, TOPIC, min_insync_replicas=lots.choice((1, 2, 2, 3)))
            await Storm(cluster, clock, lots).run()


def main(first: int, last: int) -> int:
    """1 when a seed breaks a rule, or ends in another failure; it is named."""
    for seed in range(first, last):
        try:
            asyncio.run(asyncio.wait_for(storm(seed), JOB_DEADLINE_S))
        except Exception as fault:
            print(f"seed {seed}: {type(fault).__name__} {fault}", flush=True)
            return 1
    print(f"{last - first} seeds", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
