"""Each function of the sending path fails once: records that met the fault may fail, all end, the rest are written."""

import asyncio
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from stepdown.producer import ProducerError
from stepdown.producer.accumulator.appender import Appender
from stepdown.producer.accumulator.batch_queues import BatchQueues
from stepdown.producer.accumulator.buffer_memory import BufferMemory
from stepdown.producer.accumulator.compression_estimator import CompressionRatios
from stepdown.producer.accumulator.producer_batch import Batch
from stepdown.producer.accumulator.record_accumulator import Accumulator
from stepdown.producer.accumulator.sequence_numbers import SequenceNumbers
from stepdown.producer.metadata import Metadata
from stepdown.producer.metrics.metrics import ProducerMetrics
from stepdown.producer.sender.produce_request_builder import ProduceRequestBuilder
from stepdown.producer.sender.produce_results import ProduceResultHandler
from stepdown.producer.sender.producer_id import ProducerIdCallSource
from stepdown.producer.sender.sender import Sender
from stepdown.protocol.errors import ErrorCode
from support.deadline import DEADLINE_S
from support.producing import Stage, producing

PATH = (
    Appender,
    BatchQueues,
    BufferMemory,
    CompressionRatios,
    Batch,
    Accumulator,
    ProducerMetrics,
    Metadata,
    ProduceRequestBuilder,
    ProduceResultHandler,
    ProducerIdCallSource,
    Sender,
    SequenceNumbers,
)
# What a caller waits on by itself, and what catches the faults of all others.
LEFT_OUT = {
    "Accumulator._close_safely",
    "Appender._append_after_metadata_safely",
    "Appender._try_append_safely",
    "Appender.room",
    "Appender.topic",
    "Batch.wait_for_end",
    "ProduceResultHandler.fail_for_fault",
    "ProduceResultHandler._end_batch",
    "Sender._handle_produce_answer",
    "Sender._deliver_answer",
    "Sender._handle_metadata",
    "Sender._end_batches_after_fault",
    "Sender._run_step",
}


class Fault(Exception):
    """Of ours, on purpose."""


def functions() -> Iterator[Any]:
    for owner in PATH:
        for name, function in vars(owner).items():
            full = f"{owner.__name__}.{name}"
            if inspect.isfunction(function) and not name.startswith("__") and full not in LEFT_OUT:
                yield pytest.param(owner, name, id=full)


def fail_once(monkeypatch: pytest.MonkeyPatch, owner: type, name: str, at: int) -> Callable[[], bool]:
    """Has the function raise at its call of that number; what tells whether it has."""
    function, calls = vars(owner)[name], [0]

    def fails(*given: Any, **named: Any) -> Any:
        calls[0] += 1
        if calls[0] == at:
            raise Fault(f"{owner.__name__}.{name}")
        return function(*given, **named)

    monkeypatch.setattr(owner, name, fails)
    return lambda: calls[0] >= at


async def answer(stage: Stage, number: int) -> None:
    """Answers what is open: the first of each ten is too large, lost, or refused for a moment."""
    for place, asked in enumerate(list(stage.cluster.open)):
        if asked not in stage.cluster.open:
            continue
        if number == 1 and place == 0:
            asked.answer(ErrorCode.MESSAGE_TOO_LARGE)
        elif number == 2 and place == 0:
            asked.lose()
        elif number == 3 and place == 0:
            asked.answer(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        else:
            asked.answer()
    await stage.produced(200)


@pytest.mark.parametrize(("at", "in_flight"), [(1, 5), (5, 5), (1, 1), (5, 1)])
@pytest.mark.parametrize(("owner", "name"), list(functions()))
async def test_a_fault_fails_what_met_it_and_never_the_rest(
    monkeypatch: pytest.MonkeyPatch, owner: type, name: str, at: int, in_flight: int
) -> None:
    def setup(cluster: Any) -> None:
        cluster.topics["t"] = 2
        cluster.checks_sequences = True

    async with (
        asyncio.timeout(DEADLINE_S),
        producing(
            setup,
            enable_idempotence=True,
            batch_size=200,
            buffer_memory=1000,
            compression="gzip",
            linger_ms=5,
            max_in_flight_requests_per_connection=in_flight,
        ) as stage,
    ):
        happened = fail_once(monkeypatch, owner, name, at)
        sent, refused = [], 0
        for number in range(40):
            try:
                sent.append(stage.producer.send("t", b"%03d" % number * 10, partition=number % 2))
            except (Fault, ProducerError):
                refused += 1
            if number % 8 == 7:
                await stage.produced(10)
                await answer(stage, number // 8)
        for number in range(40):
            await stage.produced(100)
            await answer(stage, 10 + number)
            if all(delivery.done() for delivery in sent):
                break
        assert all(delivery.done() for delivery in sent), f"open after {stage.clock.now} ms, fault met: {happened()}"
        written = [value for log in stage.cluster.log.values() for value in log]
        assert len(written) == len(set(written))
        told = [b"%03d" % delivery.metadata().offset for delivery in sent if delivery.error() is None]
        assert refused <= 1 and len(told) >= len(sent) - 20
        monkeypatch.undo()
        after = [stage.producer.send("t", b"after", partition=partition) for partition in (0, 1)]
        for _ in range(20):
            await stage.produced(100)
            await answer(stage, 99)
        assert [delivery.error() for delivery in after] == [None, None]
        flush = asyncio.ensure_future(stage.producer.flush())
        await stage.advance()
        assert flush.done()
