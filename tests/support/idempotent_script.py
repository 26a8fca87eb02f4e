"""Scripts for the idempotent producer on a clock that stands still, before partitions that follow the broker's rules.

A script is a list of steps. `play` runs it against our producer and gives for each step what went over the wire and
which records ended how; beside it the same script as `play_with_java` wants it: there each answer is the very one that
ours got, so that Kafka's TransactionManager, RecordAccumulator and Sender meet the same network.
"""

import random
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from stepdown.producer import ProducerError, RecordMetadata
from stepdown.producer.accumulator.compression_estimator import CompressionRatios
from stepdown.producer.accumulator.producer_batch import Batch
from stepdown.producer.sender.network_interface import NetworkAnswer
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.records.batch import RecordBatch
from stepdown.protocol.records.layout import Codec

from .java_oracle import JavaOracle
from .producing import Asked, Cluster, Stage, producing

PARTITIONS, BATCH_BYTES, RECORD_BYTES = 2, 450, 90
FIT: Final = 3
"""So many records a batch has place for by its size; one that has no more is halved, where Kafka sends it again."""
DELIVERY_TIMEOUT_MS, IN_FLIGHT = 10_000, 5
ESTIMATE: Final = 0.3


@dataclass(frozen=True, slots=True)
class Append:
    """So many records for a partition, and a pass of the sender. With `together` more fit into a batch than may."""

    partition: int
    count: int
    together: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """An end for a partition's n-th open request, if there is one: by the broker's rules, or as `how` has it.

    "split": MESSAGE_TOO_LARGE to a batch that Kafka's splits too, and by the rules to another.
    "lose": the connection breaks before the broker sees it; "lose answer": behind that. A code: the broker writes
    nothing and says so; UNKNOWN_PRODUCER_ID: it has forgotten the producer.
    """

    partition: int
    index: int
    how: str | ErrorCode = "rules"


@dataclass(frozen=True, slots=True)
class Advance:
    """Time passes."""

    delay_ms: int


Step = Append | Reply | Advance


class Sent(NamedTuple):
    """A batch on the wire; `first` is the number of its first record."""

    partition: int
    producer_id: int
    epoch: int
    sequence: int
    count: int
    first: int


@dataclass(slots=True)
class Seen:
    """What a step made happen: batches sent, in order for each partition, and records that ended with a code."""

    sent: list[Sent] = field(default_factory=list)
    ended: dict[int, int] = field(default_factory=dict)


@dataclass
class Play:
    """A script that was run."""

    seen: list[Seen] = field(default_factory=list)
    concrete: list[bytes] = field(default_factory=list)
    differs_from: int | None = None
    """The first step in which the producer does what docs/producer.md names as a difference from Kafka's."""
    logs: dict[int, list[int]] = field(default_factory=dict)
    refused: set[int] = field(default_factory=set)
    expired: set[int] = field(default_factory=set)
    partition_of: dict[int, int] = field(default_factory=dict)
    ends: dict[int, int] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    open_at_end: int = 0


class Player:
    """Runs one script against our producer."""

    def __init__(self, stage: Stage, ratios: CompressionRatios) -> None:
        self.stage, self.ratios, self.play = stage, ratios, Play()
        self._known: list[Asked] = []
        self._number = 0
        self._now = Seen()
        assert stage.producer._call_source is not None
        self._sequences = stage.producer._call_source.sequences
        self._bump_epoch_when_due = self._sequences.bump_epoch_when_due
        self._judge_overtaken = self._sequences._was_overtaken
        self._judge_must_end = self._sequences._must_end_before_new
        self._sequences.bump_epoch_when_due = self._bump  # type: ignore[method-assign]
        self._sequences._was_overtaken = self._was_overtaken  # type: ignore[method-assign]
        self._sequences._must_end_before_new = self._settles  # type: ignore[method-assign,assignment]

    def _bump(self) -> None:
        identities = [self._sequences.entry_of(key).identity for key in self._sequences._to_renumber]
        if any(identity != self._sequences.identity for identity in identities):
            self._differs()  # another partition has raised the epoch since, and that one is new enough here
        self._bump_epoch_when_due()

    def _settles(self, first: Batch) -> bool:
        found = self._judge_must_end(first)
        if found:
            self._differs()  # Kafka's does not wait
        return found

    def _was_overtaken(self, batch: Batch) -> bool:
        found = self._judge_overtaken(batch)
        if found:
            self._differs()  # Kafka's sends it again until it expires
        return found

    async def step(self, step: Step) -> None:
        self._now = Seen()
        if isinstance(step, Append):
            if step.together:
                self.ratios._ratios["t", Codec.GZIP] = ESTIMATE
                self._concrete(4, struct.pack(">i", int(ESTIMATE * 1000)))
                await self._finish(self._now)
                self._now = Seen()
            self._append(step)
        elif isinstance(step, Advance):
            self.stage.clock.now += step.delay_ms
            in_flight = [batch for batches in self.stage.producer._results.in_flight.values() for batch in batches]
            late = [batch for batch in in_flight if batch.is_expired(self.stage.clock.now, DELIVERY_TIMEOUT_MS)]
            if not all(batch.in_retry for batch in late):
                # It may have been written; Kafka's takes such a gap into account only behind a second try.
                self._differs()
            self._concrete(3, struct.pack(">i", step.delay_ms))
        elif not self._reply(step):
            return
        await self._finish(self._now)

    async def _finish(self, seen: Seen) -> None:
        await self.stage.advance()
        for asked in self.stage.cluster.open:
            if asked not in self._known:
                self._known.append(asked)
                seen.sent.append(_sent(asked))
        seen.sent.sort(key=lambda sent: sent.partition)
        self.play.seen.append(seen)
        self._note_differences()

    def _note_differences(self) -> None:
        if self._sequences._to_renumber:
            # A batch of an epoch that is given up is still on the wire, or may be in the log.
            self._differs(len(self.play.seen) - 1)

    def _differs(self, since: int | None = None) -> None:
        if self.play.differs_from is None or (since or len(self.play.seen)) < self.play.differs_from:
            self.play.differs_from = len(self.play.seen) if since is None else since

    def _concrete(self, kind: int, arguments: bytes) -> None:
        self.play.concrete.append(bytes([kind]) + arguments)

    def _append(self, step: Append) -> None:
        blob = b""
        for _ in range(step.count):
            number, self._number = self._number, self._number + 1
            value = number.to_bytes(4) + random.Random(number).randbytes(RECORD_BYTES)
            blob += struct.pack(">i", len(value)) + value
            self.play.partition_of[number] = step.partition
            self.stage.producer.send("t", value, partition=step.partition, callback=self._told(number))
        self._concrete(0, struct.pack(">ii", step.partition, len(blob)) + blob)

    def _told(self, number: int) -> Callable[[RecordMetadata | None, ProducerError | None], None]:
        def told(metadata: RecordMetadata | None, error: ProducerError | None) -> None:
            assert number not in self.play.ends, f"record {number} ended twice"
            self.play.ends[number] = self._now.ended[number] = 0 if error is None else int(error.code)
            if error is not None and error.code is ErrorCode.REQUEST_TIMED_OUT:
                self.play.expired.add(number)

        return told

    def _reply(self, step: Reply) -> bool:
        """Whether there was such a request."""
        mine = [asked for asked in self.stage.cluster.open if asked.node_id == step.partition]
        if step.index >= len(mine):
            return False
        asked, place = mine[step.index], struct.pack(">ii", step.partition, step.index)
        if step.how in ("lose", "lose answer"):
            self._concrete(2, place)
            asked.lose() if step.how == "lose answer" else asked.drop()
            return True
        code, log_start = ErrorCode.NONE, 0
        if step.how == "split" and _sent(asked).count > FIT:
            code = ErrorCode.MESSAGE_TOO_LARGE
        if isinstance(step.how, ErrorCode):
            code = step.how
            if code is ErrorCode.MESSAGE_TOO_LARGE and 1 < _sent(asked).count <= FIT:
                self._differs()
            if code is ErrorCode.UNKNOWN_PRODUCER_ID:
                self.stage.cluster.forget("t", step.partition)
            elif not code.retriable and code is not ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
                self.play.refused.update(int.from_bytes(value[:4]) for value in asked.values(partition=step.partition))
        response = asked._response(lambda *_: code, None, {"log_start_offset": log_start})
        [part] = response.responses[0].partition_responses
        self._concrete(1, place + struct.pack(">hqq", part.error_code, part.base_offset, part.log_start_offset))
        asked.finish(NetworkAnswer(response=response))
        return True

    async def heal(self) -> None:
        """Answers by the rules until nothing is open, as a network does that works again."""
        for _ in range(200):
            await self.step(Reply(0, 0))
            await self.step(Reply(1, 0))
            if not self.stage.cluster.open:
                break
        self.play.open_at_end = len(self.stage.cluster.open)
        self.play.logs = {
            partition: [int.from_bytes(value[:4]) for value in self.stage.cluster.log.get(("t", partition), [])]
            for partition in range(PARTITIONS)
        }
        self.play.metrics = self.stage.producer.metrics()


def _sent(asked: Asked) -> Sent:
    [((_, partition), batch)] = asked.batches.items()
    assert isinstance(batch, RecordBatch)
    first = int.from_bytes(asked.values(partition=partition)[0][:4])
    return Sent(partition, batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.record_count, first)


def _setup(cluster: Cluster) -> None:
    cluster.topics["t"], cluster.nodes, cluster.checks_sequences = PARTITIONS, PARTITIONS, True


async def play(steps: Sequence[Step]) -> Play:
    """Runs the script, and then answers whatever is left by the broker's rules.

    Each partition takes a batch first: before that ours sends one at a time, and Kafka's does not.
    """
    ratios = CompressionRatios()
    async with producing(
        _setup,
        enable_idempotence=True,
        batch_size=BATCH_BYTES,
        compression="gzip",
        linger_ms=0,
        retry_backoff_ms=0,
        retry_backoff_max_ms=0,
        request_timeout_ms=DELIVERY_TIMEOUT_MS,
        delivery_timeout_ms=DELIVERY_TIMEOUT_MS,
        max_in_flight_requests_per_connection=IN_FLIGHT,
        ratios=ratios,
    ) as stage:
        player = Player(stage, ratios)
        for partition in range(PARTITIONS):
            await player.step(Append(partition, 1))
            await player.step(Reply(partition, 0))
        for step in steps:
            await player.step(step)
        await player.heal()
        return player.play


def play_with_java(oracle: JavaOracle, play: Play) -> tuple[list[Seen], dict[str, float]]:
    """What Kafka's own does with the same steps; and its metrics."""
    payload = struct.pack(">iiii", PARTITIONS, BATCH_BYTES, DELIVERY_TIMEOUT_MS, IN_FLIGHT) + b"".join(play.concrete)
    answer, at = oracle.call("Producing.run", payload), 0
    seen = []
    for _ in play.concrete:
        if at == len(answer):
            return seen, {}  # an answer had no request: the two went apart before
        now = Seen()
        (count,), at = struct.unpack_from(">i", answer, at), at + 4
        for _ in range(count):
            now.sent.append(Sent(*struct.unpack_from(">iqiiii", answer, at)))
            at += 28
        now.sent.sort(key=lambda sent: sent.partition)
        (count,), at = struct.unpack_from(">i", answer, at), at + 4
        for _ in range(count):
            number, code = struct.unpack_from(">ii", answer, at)
            now.ended[number], at = code, at + 8
        seen.append(now)
    metrics = {}
    while at < len(answer):
        (size,) = struct.unpack_from(">h", answer, at)
        name = answer[at + 2 : at + 2 + size].decode()
        (value,) = struct.unpack_from(">q", answer, at + 2 + size)
        metrics[name], at = float("nan") if value == -(1 << 63) else value / 1e6, at + 10 + size
    return seen, metrics
