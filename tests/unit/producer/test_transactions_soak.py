"""Transactions in trouble on the injected clock: each ends, what was committed is written once and in order."""

import asyncio
import random
from collections import Counter
from functools import partial

import pytest
from stepdown.producer import Delivery, Producer, ProducerError, RecordMetadata
from stepdown.protocol.api import ApiKey
from stepdown.protocol.errors import ErrorCode
from support.coordinating import Coordinators
from support.producing import Asked, Cluster, producing

TRANSACTIONS = 120
STEP_MS = 20
PASSING = [
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.NETWORK_EXCEPTION,
]
RETRIABLE = [code for code in ErrorCode if code.retriable]


class Troubled(Coordinators):
    """One answer in four is an error; a few of them spoil the transaction."""

    draws: random.Random

    def answer(self, asked: Asked) -> None:
        fate = self.draws.random()
        if fate < 0.25:
            self.codes.setdefault(asked.key, []).append(self.draws.choice(PASSING))
        elif fate < 0.28 and asked.key in (ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.ADD_OFFSETS_TO_TXN):
            self.codes.setdefault(asked.key, []).append(ErrorCode.TRANSACTION_ABORTABLE)
        elif fate < 0.3 and asked.key in (ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.END_TXN):
            self.codes.setdefault(asked.key, []).append(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        super().answer(asked)


async def run(producer: Producer, draws: random.Random, committed: list[Delivery], ends: Counter[int]) -> int:
    """The application: how many records it sent."""
    number = aborted = 0
    await producer.init_transactions()
    for _ in range(TRANSACTIONS):
        deliveries = []
        try:
            producer.begin_transaction()
            for _ in range(draws.randrange(12)):
                value, partition = b"%d." % number * draws.randrange(1, 30), draws.randrange(3)
                told = partial(count, ends, number)
                number += 1
                deliveries.append(producer.send("t", value, partition=partition, callback=told))
                await asyncio.sleep(0)
            if draws.random() < 0.3:
                await producer.send_offsets_to_transaction({("in", 0): number}, "g")
            if draws.random() < 0.15:
                await producer.abort_transaction()
                aborted += 1
                continue
            await producer.commit_transaction()
            committed += deliveries
        except ProducerError:
            await producer.abort_transaction()
            aborted += 1
    assert 10 < aborted < TRANSACTIONS - 10
    return number


def count(ends: Counter[int], number: int, metadata: RecordMetadata, error: ProducerError | None) -> None:
    ends[number] += 1


@pytest.mark.lengthy
@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_every_transaction_ends_and_the_committed_ones_are_whole(seed: int) -> None:
    draws = random.Random(seed)
    coordinators = Troubled()
    coordinators.draws = draws
    committed: list[Delivery] = []
    ends: Counter[int] = Counter()

    def setup(cluster: Cluster) -> None:
        cluster.topics["t"], cluster.nodes, cluster.other = 3, 2, coordinators
        cluster.checks_sequences = True

    settings = {"linger_ms": 10, "batch_size": 300, "delivery_timeout_ms": 6000, "request_timeout_ms": 3000}
    given = {"transactional_id": "tx", "enable_idempotence": True, "draws": draws, "max_block_ms": 600_000}
    async with producing(setup, **settings, **given) as stage:
        application = asyncio.ensure_future(run(stage.producer, draws, committed, ends))
        while not application.done():
            for asked in await stage.produced(STEP_MS):
                fate = draws.random()
                if fate < 0.5:
                    asked.answer()
                elif fate < 0.6:
                    asked.answer_each(lambda topic, index: draws.choice(RETRIABLE))
                elif fate < 0.61:
                    asked.answer_each(lambda topic, index: ErrorCode.INVALID_RECORD)
                elif fate < 0.65:
                    asked.lose()
                elif fate < 0.66:
                    asked.answer(ErrorCode.MESSAGE_TOO_LARGE)
                elif stage.clock.now - asked.sent_ms >= 3000:
                    asked.drop(ErrorCode.REQUEST_TIMED_OUT)
        number = application.result()

    assert ends == Counter(range(number))
    assert len(committed) > 100 and all(delivery.error() is None for delivery in committed)
    for partition in range(3):
        log = stage.cluster.log.get(("t", partition), [])
        kept = Counter(log)
        offsets = [d.metadata().offset for d in committed if d.metadata().partition == partition]
        known = [offset for offset in offsets if offset >= 0]
        assert known == sorted(set(known))
        assert all(kept[log[offset]] == 1 for offset in known)
