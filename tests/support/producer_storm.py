"""Random scripts for the idempotent and the transactional producer against a broker that is stopped, killed, cut off.

    python -m support.producer_storm 10000000 [SEED]        from tests/: at least so many records; 1 when a rule broke

A script is drawn from its seed: settings, records (with keys and without, that compress or not, a few too large), and
one trouble. Then the log's own files are read: what was acknowledged lies where the producer was told, once and in
order, in each partition; what failed had a cause that the script has, and is not there, or at most once where its time
was over; nothing else is there. Of transactions those that were committed count.
"""

import asyncio
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from signal import SIGCONT, SIGSTOP
from typing import Any

from stepdown.producer import Delivery, Fenced, Producer, ProducerError, RecordTooLarge, Timeout, TransactionAborted
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.records.batch import RecordBatch
from stepdown.protocol.records.batches import iter_batches

from .broker import Stepdown
from .deadline import JOB_DEADLINE_S

LIMIT = 20_000
RECORDS_A_SCRIPT = 50_000
SCRIPTS_A_BROKER = 8
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
TROUBLES = ("none", "cuts", "cuts", "cuts", "stops", "kills", "kills", "expiry")
NOISE = Random(0).randbytes(1 << 20)
NUMBER_DIGITS = 8


class SamePort(Stepdown):
    """Started again it listens where it did, so that a producer finds it."""

    def _command(self) -> list[str]:
        command = super()._command()
        if self.address:
            command[command.index("--listen") + 1] = self.address
        return command


@dataclass
class Sent:
    """A record that was given to the producer, and the transaction that it belongs to."""

    delivery: Delivery
    is_too_large: bool
    may_be_too_large: bool
    transaction: int = -1


@dataclass
class Script:
    """One run, and what it found wrong."""

    broker: SamePort
    seed: int
    counts: Counter[str]
    records: int = RECORDS_A_SCRIPT
    sent: list[Sent] = field(default_factory=list)
    committed: dict[int, bool | None] = field(default_factory=dict)
    """By transaction; None where the producer was not told, or fenced meanwhile."""
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.draws = Random(self.seed)
        self.topic = f"storm-{self.seed}"
        self.partitions = self.draws.choice([1, 1, 2, 4])
        self.trouble = self.draws.choice(TROUBLES)
        self.is_transactional = self.draws.random() < 0.25
        self.over = False

    def settings(self) -> dict[str, Any]:
        draws = self.draws
        expiry = self.trouble == "expiry"
        found: dict[str, Any] = {
            "batch_size": draws.choice([1000, 16_384, 60_000, 200_000]),
            "linger_ms": draws.choice([0, 0, 5]),
            "compression": draws.choice(CODECS),
            "max_in_flight_requests_per_connection": draws.choice([1, 2, 5, 5]),
            "retry_backoff_ms": draws.choice([5, 20, 100]),
            "request_timeout_ms": 500 if expiry else draws.choice([300, 1000, 30_000]),
            "delivery_timeout_ms": 1000 if expiry else 120_000,
            "buffer_memory": draws.choice([2_000_000, 33_554_432]),
        }
        return found | ({"transactional_id": f"storm-{self.seed}"} if self.is_transactional else {})

    async def run(self) -> None:
        """The whole script; what is wrong is in `wrong`."""
        await asyncio.to_thread(
            self.broker.create_topic,
            self.topic,
            partitions=self.partitions,
            configs={"max.message.bytes": str(LIMIT), "retention.ms": "-1"},
        )
        settings = self.settings()
        try:
            async with asyncio.timeout(JOB_DEADLINE_S):
                if self.is_transactional:
                    await self._run_transactions(settings)
                else:
                    await self._run_plain(settings)
        except TimeoutError:
            open_records = sum(not each.delivery.done() for each in self.sent)
            self.wrong.append(f"stalled: {open_records} of {len(self.sent)} records have no end")
            return
        await self._let_live()
        self._check()

    # --- what is sent -------------------------------------------------------------------------------------------------

    async def _send(self, producer: Producer, count: int, transaction: int = -1) -> None:
        draws = self.draws
        for at in range(count):
            head = b"%0*d" % (NUMBER_DIGITS, len(self.sent))
            fate = draws.random()
            large = fate < 0.0003
            size = LIMIT * 2 if large or fate > 0.9998 else draws.choice((0, 20, 100, 100, 100, 300, 1000))
            if large or (fate < 0.9998 and len(self.sent) // 25 % 2):
                begin = draws.randrange(len(NOISE) - LIMIT * 2)
                value = head + NOISE[begin : begin + size]
            else:
                value = head + b"x" * size
            key = b"%d" % (at % 50) if fate < 0.2 else None
            partition = at % self.partitions if 0.2 < fate < 0.3 else None
            delivery = producer.send(self.topic, value, key=key, partition=partition)
            self.sent.append(Sent(delivery, large, size > LIMIT, transaction))
            if at % 64 == 0:
                await delivery.accepted()
                pause_s = 0.005 if self.trouble == "expiry" else 0.001
                await asyncio.sleep(0 if fate < 0.9 and self.trouble != "expiry" else pause_s)

    async def _run_plain(self, settings: dict[str, Any]) -> None:
        async with Producer(self.broker.address, **settings) as producer, self._in_trouble([producer]):
            await self._send(producer, self.records)
            await producer.flush()
            self._count(producer)

    async def _run_transactions(self, settings: dict[str, Any]) -> None:
        """Transactions one after the other; now and then another producer takes the name, and goes on."""
        producers: list[Producer] = []
        async with self._in_trouble(producers):
            producer = await self._next_holder(producers, settings)
            try:
                while len(self.sent) < self.records:
                    if self.draws.random() < 0.03:
                        producer = await self._fence(producer, producers, settings)
                    else:
                        await self._transaction(producer)
            finally:
                self._count(producer)
                await producer.close()

    async def _next_holder(self, producers: list[Producer], settings: dict[str, Any]) -> Producer:
        producer = await Producer(self.broker.address, **settings).start()
        producers[:] = [producer]
        await producer.init_transactions()
        return producer

    async def _transaction(self, producer: Producer) -> None:
        number, commit = len(self.committed), self.draws.random() < 0.8
        self.committed[number] = False
        producer.begin_transaction()
        try:
            await self._send(producer, self.draws.randrange(1, 3000), number)
            if commit:
                await producer.commit_transaction()
                self.committed[number] = True
                return
        except ProducerError as error:
            self.counts[f"transactions ended by {type(error).__name__}"] += 1
        await producer.abort_transaction()

    async def _fence(self, old: Producer, producers: list[Producer], settings: dict[str, Any]) -> Producer:
        """Another one takes the name while the old one has a transaction open, which nobody may see afterwards."""
        number = len(self.committed)
        self.committed[number] = False
        old.begin_transaction()
        await self._send(old, 500, number)
        new = await self._next_holder(producers, settings)
        try:
            await self._send(old, 100, number)
            await old.commit_transaction()
            self.wrong.append("a fenced producer committed")
        except Fenced:
            self.counts["fenced"] += 1
        except RecordTooLarge:
            pass  # which came first
        except ProducerError as error:
            self.wrong.append(f"a fenced producer was told {error!r}")
        self._count(old)
        await old.close()
        return new

    def _count(self, producer: Producer) -> None:
        metrics = producer.metrics()
        self.counts["splits"] += int(metrics["batch-split-total"])
        self.counts["retries"] += int(metrics["record-retry-total"])
        if producer._call_source is not None:
            self.counts["epochs"] += producer._call_source.sequences.identity.epoch

    # --- trouble ------------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _in_trouble(self, producers: list[Producer]) -> AsyncIterator[None]:
        task = asyncio.create_task(self._make_trouble(producers))
        try:
            yield
        finally:
            self.over = True
            await task

    async def _make_trouble(self, producers: list[Producer]) -> None:
        for _ in range({"none": 0, "cuts": 1000, "stops": 8, "kills": 3, "expiry": 2}[self.trouble]):
            await asyncio.sleep(self.draws.uniform(0.005, 0.05) if self.trouble == "cuts" else 0.3)
            if self.over:
                break
            self.counts[self.trouble] += 1
            if self.trouble == "cuts":
                cut(producers)
            elif self.trouble == "kills":
                await asyncio.to_thread(self.broker.kill)
                await asyncio.to_thread(self.broker.start)
            else:
                await self._stop_for(1.5 if self.trouble == "expiry" else self.draws.uniform(0.05, 0.7))

    async def _stop_for(self, seconds: float) -> None:
        os.kill(self.broker.pid, SIGSTOP)
        await asyncio.sleep(seconds)
        os.kill(self.broker.pid, SIGCONT)

    async def _let_live(self) -> None:
        """Waits until the broker has done what expired requests asked of it."""
        if self.trouble == "expiry":
            await asyncio.sleep(0.5)

    # --- what is there ------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        places: dict[int, tuple[int, int]] = {}
        for partition in range(self.partitions):
            self._read(partition, places)
        for number, sent in enumerate(self.sent):
            if not sent.delivery.done():
                self.wrong.append(f"record {number} has no end")
            elif (error := sent.delivery.exception()) is not None:
                self._check_failed(number, sent, error, places)
            else:
                self._check_written(number, sent, places)
        self.counts["records"] += len(self.sent)
        self.counts["scripts"] += 1

    def _read(self, partition: int, places: dict[int, tuple[int, int]]) -> None:
        """Notes where each record lies."""
        last = -1
        for offset, number in visible(self.broker.log_dir / f"{self.topic}-{partition}"):
            if number in places:
                self.wrong.append(f"record {number} is there twice")
            if number <= last:
                self.wrong.append(f"record {number} lies behind {last} in partition {partition}")
            last, places[number] = number, (partition, offset)

    def _check_written(self, number: int, sent: Sent, places: dict[int, tuple[int, int]]) -> None:
        committed = self.committed.get(sent.transaction, True)
        told, found = sent.delivery.result(), places.get(number)
        if sent.is_too_large:
            self.wrong.append(f"record {number}, which is too large, was acknowledged")
        if committed and found is None:
            self.wrong.append(f"record {number} is lost; it was told to be at {told.partition}, {told.offset}")
        elif committed and told.offset >= 0 and found != (told.partition, told.offset):
            self.wrong.append(f"record {number} was told to be at {told.partition}, {told.offset}, it is at {found}")
        elif not committed and found is not None:
            self.wrong.append(f"record {number} of a transaction that was aborted is there")

    def _check_failed(self, number: int, sent: Sent, error: BaseException, places: dict[int, tuple[int, int]]) -> None:
        code = error.code if isinstance(error, ProducerError) else None
        # An answer that would be tried again ends a batch whose time is over, as in Kafka.
        late = isinstance(error, Timeout) or code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        expired = late and self.trouble == "expiry"
        too_large = isinstance(error, RecordTooLarge) and sent.may_be_too_large
        aborted = isinstance(error, TransactionAborted | Fenced) or (isinstance(error, ProducerError) and not expired)
        in_aborted = sent.transaction >= 0 and not self.committed[sent.transaction] and aborted
        if not (expired or too_large or in_aborted):
            self.wrong.append(f"record {number} failed without cause: {error!r}")
        if number in places and (not expired or sent.transaction >= 0):
            self.wrong.append(f"record {number} failed, and is there: {error!r}")
        self.counts[f"failed, {type(error).__name__}"] += 1


def visible(folder: Path) -> Iterator[tuple[int, int]]:
    """Offset and number of each record of a partition that a consumer of committed ones would see."""
    open_ones: dict[int, list[tuple[int, int]]] = {}
    for path in sorted(folder.glob("*.log")):
        for batch in iter_batches(path.read_bytes()):
            assert isinstance(batch, RecordBatch)
            if batch.is_control:
                [marker] = batch.records()
                those = open_ones.pop(batch.producer_id, [])
                if marker.key is not None and bytes(marker.key)[3]:
                    yield from those
                continue
            found = [(record.offset, int(bytes(record.value or b"")[:NUMBER_DIGITS])) for record in batch.records()]
            if batch.is_transactional:
                open_ones.setdefault(batch.producer_id, []).extend(found)
            else:
                yield from found


def cut(producers: Sequence[Producer]) -> None:
    """Breaks the connections of these producers."""
    for producer in producers:
        for node in list(producer._link._nodes.values()):  # type: ignore[attr-defined]
            if node.connection is not None and node.connection.open:
                node.connection.close()


async def storm(records: int, seed: int, counts: Counter[str]) -> int:
    """Scripts from that seed on until there were so many records; how many of the scripts found something wrong."""
    wrong = 0
    while counts["records"] < records:
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
            broker = SamePort(Path(folder))
            broker.start()
            try:
                for number in range(seed, seed + SCRIPTS_A_BROKER):
                    wrong += await one(broker, number, counts)
            finally:
                with suppress(ProcessLookupError):
                    os.kill(broker.pid, SIGCONT)
                broker.kill()
        seed += SCRIPTS_A_BROKER
    return wrong


async def one(broker: SamePort, seed: int, counts: Counter[str]) -> bool:
    """Runs the script of a seed, and prints what is wrong; whether anything is."""
    script, began = Script(broker, seed, counts), time.monotonic()
    await script.run()
    kind = "transactions" if script.is_transactional else "plain"
    print(f"{seed}: {kind}, {script.trouble}, {len(script.sent)} records, {time.monotonic() - began:.1f} s", flush=True)
    for text in script.wrong[:10]:
        print(f"  WRONG: {text}", flush=True)
    return bool(script.wrong)


def main() -> int:
    counts: Counter[str] = Counter()
    records, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    wrong = asyncio.run(storm(records, seed, counts))
    print(f"{wrong} of {counts['scripts']} scripts found something wrong; {dict(counts)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
