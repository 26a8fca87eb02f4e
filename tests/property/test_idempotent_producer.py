"""The idempotent producer before partitions that follow the broker's rules: none lost, doubled, reordered or stalled.

A partition takes requests in the order of its connection, and answers in it. What a broken connection still holds may
be written much later, behind what was sent again over the next one. Whether a batch is refused depends on what is in
it, as with a broker: it is too large, or a record in it is invalid.

Faults that are planted in the sequence numbers show what the model sees.
"""

import asyncio
import random
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import Phase, example, given, seed, settings
from hypothesis import strategies as st
from stepdown.producer import ProducerError, RecordMetadata
from stepdown.producer.accumulator.compression_estimator import CompressionRatios
from stepdown.producer.accumulator.producer_batch import Batch, TopicPartition
from stepdown.producer.accumulator.record_accumulator import Accumulator
from stepdown.producer.accumulator.sequence_numbers import SequenceNumbers
from stepdown.producer.sender import produce_results
from stepdown.producer.sender.network_interface import NetworkAnswer
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.records.layout import NO_SEQUENCE, Codec
from support.producing import Asked, Cluster, Stage, producing

PARTITIONS, MOST_RECORDS, TIMEOUT_MS = 2, 4, 10_000
TRANSIENT = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.KAFKA_STORAGE_ERROR)

Script = list[tuple[Any, ...]]

partitions = st.integers(0, PARTITIONS - 1)
steps = st.one_of(
    st.tuples(st.just("append"), partitions, st.sampled_from([1, 1, 1, 2, 3, 5, 12]), st.booleans()),
    st.tuples(st.just("answer"), partitions),
    st.tuples(st.just("answer"), partitions),
    st.tuples(st.just("refuse"), partitions, st.sampled_from(TRANSIENT)),
    st.tuples(st.just("written, but"), partitions),
    st.tuples(st.just("cut"), partitions, st.integers(0, 5), st.booleans()),
    st.tuples(st.just("late"), partitions),
    st.tuples(st.just("wait"), st.sampled_from([100, 4000, 11_000])),
)

# Without a least size they have five steps in the middle, in which little goes wrong.
scripts = st.lists(steps, min_size=20, max_size=80)


def is_too_large(number: int) -> bool:
    return number % 7 == 3


def is_invalid(number: int) -> bool:
    return number % 23 == 11


class Network:
    """The partitions, and what is on the way to them."""

    def __init__(self, stage: Stage, ratios: CompressionRatios) -> None:
        self.stage, self.ratios = stage, ratios
        self.number = 0
        self.late: dict[int, list[Asked]] = defaultdict(list)
        self.partition_of: dict[int, int] = {}
        self.ends: dict[int, ErrorCode] = {}
        self.refused: set[int] = set()
        self.time_passed = False

    async def step(self, what: str, *arguments: int) -> None:
        if what == "append":
            self.append(*arguments)
        elif what == "wait":
            self.stage.clock.now += arguments[0]
            self.time_passed = True
        elif what == "late":
            if self.late[arguments[0]]:
                self.process(self.late[arguments[0]].pop(0))
        elif what == "cut":
            self.cut(*arguments)
        elif mine := self.open_to(arguments[0]):
            self.reply(mine[0], what, *arguments[1:])
        await self.stage.advance()

    def open_to(self, partition: int) -> list[Asked]:
        return [asked for asked in self.stage.cluster.open if asked.node_id == partition]

    def append(self, partition: int, count: int, together: bool) -> None:
        if together:
            self.ratios._ratios["t", Codec.GZIP] = 0.3  # more fit into a batch than it may have
        for number in range(self.number, self.number + count):
            value = number.to_bytes(4) + random.Random(number).randbytes(90)
            self.partition_of[number] = partition
            self.stage.producer.send("t", value, partition=partition, callback=self.told(number))
        self.number += count

    def told(self, number: int) -> Callable[[RecordMetadata | None, ProducerError | None], None]:
        def told(metadata: RecordMetadata | None, error: ProducerError | None) -> None:
            assert number not in self.ends, f"record {number} ended twice"
            self.ends[number] = ErrorCode.NONE if error is None else error.code

        return told

    def process(self, asked: Asked, code: ErrorCode | None = None) -> NetworkAnswer:
        """What the partition answers; `code` instead of what it would say."""
        numbers = [int.from_bytes(value[:4]) for value in asked.values(partition=asked.node_id)]
        if code is None:
            code = ErrorCode.NONE
            if any(map(is_invalid, numbers)):
                code = ErrorCode.INVALID_RECORD
                self.refused.update(numbers)
            elif len(numbers) > MOST_RECORDS or any(map(is_too_large, numbers)):
                code = ErrorCode.MESSAGE_TOO_LARGE
        return NetworkAnswer(response=asked._response(lambda *_: code, None, {"log_start_offset": 0}))

    def reply(self, asked: Asked, what: str, code: ErrorCode | None = None) -> None:
        answer = self.process(asked, code)
        [part] = answer.response.responses[0].partition_responses
        if what == "written, but" and part.error_code == ErrorCode.NONE:
            answer = self.process(asked, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
        asked.finish(answer)

    def cut(self, partition: int, processed: int, rest_is_late: bool) -> None:
        mine = self.open_to(partition)
        for asked in mine[:processed]:
            self.process(asked)
        if rest_is_late:
            self.late[partition] += mine[processed:]
        for asked in mine:
            asked.drop()

    async def heal(self) -> None:
        """From now on all works; no time passes."""
        for _ in range(400):
            for partition in range(PARTITIONS):
                await self.step("answer", partition)
            if not self.stage.cluster.open:
                break
        for partition in range(PARTITIONS):
            for asked in self.late[partition]:
                self.process(asked)

    def check(self) -> None:
        for partition in range(PARTITIONS):
            written = [int.from_bytes(value[:4]) for value in self.stage.cluster.log.get(("t", partition), [])]
            assert written == sorted(set(written))
            mine = [number for number, of in self.partition_of.items() if of == partition]
            acknowledged = {number for number in mine if self.ends.get(number) is ErrorCode.NONE}
            assert acknowledged <= set(written)
            for number in set(mine) - acknowledged:
                assert number in self.ends, f"record {number} has no end"
                self.check_failed(number, self.ends[number], number in written)

    def check_failed(self, number: int, code: ErrorCode, is_written: bool) -> None:
        if code is ErrorCode.MESSAGE_TOO_LARGE:
            assert is_too_large(number) and not is_written
        elif code is ErrorCode.REQUEST_TIMED_OUT:
            assert self.time_passed
        else:
            assert code is ErrorCode.INVALID_RECORD and number in self.refused and not is_written


def setup(cluster: Cluster) -> None:
    cluster.topics["t"], cluster.nodes, cluster.checks_sequences = PARTITIONS, PARTITIONS, True


async def run(script: Script) -> None:
    ratios = CompressionRatios()
    async with producing(
        setup,
        enable_idempotence=True,
        batch_size=450,
        compression="gzip",
        retry_backoff_ms=0,
        retry_backoff_max_ms=0,
        request_timeout_ms=TIMEOUT_MS,
        delivery_timeout_ms=TIMEOUT_MS,
        ratios=ratios,
    ) as stage:
        network = Network(stage, ratios)
        for step in script:
            await network.step(*step)  # type: ignore[arg-type]
        await network.heal()
        network.check()


# Of a batch that was split and is sent again, one child expires after the batch behind it.
EXPIRE_BACKWARDS: Script = [
    *(("answer", 0), ("answer", 0), ("append", 0, 1, False), ("append", 0, 3, False), ("answer", 0)),
    *(("append", 0, 1, False), ("wait", 4000), ("wait", 4000)),
    *(("append", 0, 1, False), ("append", 0, 1, False), ("append", 0, 1, False), ("answer", 0), ("wait", 4000)),
]


@settings(deadline=None, max_examples=150)
@given(scripts)
@example(EXPIRE_BACKWARDS)
def test_no_record_is_lost_doubled_reordered_or_stalled(script: Script) -> None:
    asyncio.run(run(script))


# --- that the model sees faults -------------------------------------------------------------------------------------


def renumber_what_is_on_the_wire(sequences: SequenceNumbers) -> list[TopicPartition]:
    return list(sequences._to_renumber)


def renumber_what_may_be_written(sequences: SequenceNumbers) -> list[TopicPartition]:
    keys = sequences._to_renumber
    return [key for key in keys if not any(batch.is_on_wire for batch in sequences.entry_of(key).in_flight)]


def restart_and_go_on_counting(sequences: SequenceNumbers, entry: Any) -> None:
    following = entry.next
    RESTART(sequences, entry)
    entry.next = entry.next if entry.in_flight else following


def restart_without_those_in_flight(sequences: SequenceNumbers, entry: Any) -> None:
    entry.identity, entry.next, entry.last_acked = sequences.identity, 0, NO_SEQUENCE


def hand_over_with_the_parents_sequence(batch: Batch, children: list[Batch]) -> None:
    HAND_OVER(batch, children)
    for child in children:
        child.base_sequence = batch.base_sequence


def leave_a_gap(sequences: SequenceNumbers, batch: Batch, code: ErrorCode, *, adjust: bool) -> None:
    sequences.remove_in_flight_batch(batch)


def drain_retries_in_any_order(sequences: SequenceNumbers, batch: Batch) -> bool:
    return batch.has_sequence or MAY_DRAIN(sequences, batch)


def insert_in_front(accumulator: Accumulator, batch: Batch) -> None:
    accumulator._queues.of_partition(batch.topic, batch.partition).appendleft(batch)


RESTART, MAY_DRAIN, HAND_OVER = (
    SequenceNumbers._start_sequences_at_beginning,
    SequenceNumbers.may_drain,
    Batch._pass_deliveries_to,
)
TELL = produce_results.TELL_NOT_WRITTEN
FAULTS: dict[str, tuple[Any, str, Any]] = {
    "what is on the wire is renumbered": (SequenceNumbers, "_partitions_to_renumber", renumber_what_is_on_the_wire),
    "what may be written is renumbered": (SequenceNumbers, "_partitions_to_renumber", renumber_what_may_be_written),
    "a lost answer tells that nothing was written": (
        *(produce_results, "TELL_NOT_WRITTEN"),
        (*TELL, ErrorCode.NETWORK_EXCEPTION),
    ),
    "too few replicas tell that nothing was written": (
        *(produce_results, "TELL_NOT_WRITTEN"),
        (*TELL, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND),
    ),
    "what expired is forgotten": (SequenceNumbers, "note_expired_batch", lambda sequences, batch: None),
    "a refused batch leaves a gap": (SequenceNumbers, "handle_failed_batch", leave_a_gap),
    "children have their parent's sequence": (Batch, "_pass_deliveries_to", hand_over_with_the_parents_sequence),
    "a new epoch goes on counting": (SequenceNumbers, "_start_sequences_at_beginning", restart_and_go_on_counting),
    "a new epoch leaves those in flight as they were": (
        SequenceNumbers,
        "_start_sequences_at_beginning",
        restart_without_those_in_flight,
    ),
    "retries go in any order": (SequenceNumbers, "may_drain", drain_retries_in_any_order),
    "what comes back goes in front": (Accumulator, "_insert", insert_in_front),
    "the second batch does not wait for the first": (
        SequenceNumbers,
        "waits_for_first",
        lambda sequences, batch: False,
    ),
    "out of order is an end": (SequenceNumbers, "can_retry", lambda sequences, batch, code, start: code.retriable),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_seen(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    monkeypatch.setattr(*FAULTS[fault])

    @seed(1)
    @settings(deadline=None, max_examples=1500, phases=[Phase.generate], database=None, report_multiple_bugs=False)
    @given(scripts)
    def check(script: Script) -> None:
        asyncio.run(run(script))

    with pytest.raises(AssertionError):
        check()
