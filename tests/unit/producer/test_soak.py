"""Ten minutes of trouble on the injected clock: every record ends once, in time, and in order per partition."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import cycle

import pytest
from stepdown.producer import ProducerError, RecordMetadata
from stepdown.producer.errors import FATAL_CODES
from stepdown.protocol.errors import ErrorCode
from support.producing import Cluster, producing

RETRIABLE = [code for code in ErrorCode if code.retriable]
# MESSAGE_TOO_LARGE has a chance of its own, and what counts as written is none. Codes that end an idempotent producer
# do that in test_sequences.py.
REFUSALS = [
    code
    for code in ErrorCode
    if not code.retriable
    and code not in (ErrorCode.NONE, ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER)
]
STEP_MS = 50
MINUTES = 10
TIMEOUT_MS = 5000


def cluster_of(cluster: Cluster) -> None:
    cluster.topics["t"], cluster.nodes = 4, 2
    cluster.checks_sequences = cluster.settings.idempotent


def numbers_in(log: list[bytes]) -> list[int]:
    return [int(value.split(b".")[0]) for value in log]


@pytest.mark.lengthy
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "settings",
    [
        {"max_in_flight_requests_per_connection": 1},
        {"max_in_flight_requests_per_connection": 5},
        {"enable_idempotence": True},
    ],
    ids=["one in flight", "five in flight", "idempotent"],
)
async def test_every_record_ends_once_in_time_and_in_order(settings: dict[str, object], seed: int) -> None:
    draws = random.Random(seed)
    ends: Counter[int] = Counter()
    order: dict[int, list[int]] = defaultdict(list)
    created: dict[int, int] = {}
    late: list[int] = []
    refusals = [code for code in REFUSALS if code not in FATAL_CODES or "enable_idempotence" not in settings]
    draws.shuffle(refusals)
    refusal, retriable = cycle(refusals), cycle(RETRIABLE)
    told_codes: set[ErrorCode] = set()

    def tell(codes: Iterator[ErrorCode]) -> ErrorCode:
        code = next(codes)
        told_codes.add(code)
        return code

    async with producing(
        cluster_of,
        linger_ms=20,
        batch_size=400,
        compression="lz4",
        delivery_timeout_ms=TIMEOUT_MS,
        request_timeout_ms=3000,
        max_block_ms=2000,
        draws=draws,
        **settings,
    ) as stage:

        def told(number: int, partition: int, metadata: RecordMetadata, error: ProducerError | None) -> None:
            ends[number] += 1
            order[partition].append(number)
            if stage.clock.now - created[number] > TIMEOUT_MS + 2000 + STEP_MS:
                late.append(number)

        number = 0
        for _ in range(MINUTES * 60_000 // STEP_MS):
            if draws.random() < 0.25:
                partition = draws.randrange(4)
                created[number] = stage.clock.now
                stage.producer.send(
                    "t",
                    b"%d." % number * draws.randrange(1, 40),
                    partition=partition,
                    callback=lambda m, e, n=number, p=partition: told(n, p, m, e),
                )
                number += 1
            for asked in await stage.produced(STEP_MS):
                fate = draws.random()
                if fate < 0.3:
                    asked.answer()
                elif fate < 0.4:
                    asked.answer_each(lambda topic, index: tell(retriable))
                elif fate < 0.46:
                    asked.answer_each(lambda topic, index: tell(refusal))
                elif fate < 0.49:
                    asked.answer(ErrorCode.MESSAGE_TOO_LARGE)
                elif fate < 0.54:
                    asked.drop(draws.choice([ErrorCode.NETWORK_EXCEPTION, ErrorCode.REQUEST_TIMED_OUT]))
                elif stage.clock.now - asked.sent_ms >= 3000:
                    asked.drop(ErrorCode.REQUEST_TIMED_OUT)
            if draws.random() < 0.01:
                stage.cluster.unready ^= {draws.randrange(2)}
        stage.cluster.unready.clear()
        for _ in range(400):
            for asked in await stage.produced(STEP_MS):
                asked.answer()

    assert number > 2000
    assert told_codes >= set(RETRIABLE)
    assert len(told_codes & set(refusals)) > len(refusals) // 4
    assert ends == Counter(range(number))
    assert late == []
    in_order = settings == {"max_in_flight_requests_per_connection": 1}
    if in_order:
        assert all(numbers == sorted(numbers) for numbers in order.values())
    if in_order or stage.producer.settings.idempotent:
        assert all(numbers_in(log) == sorted(numbers_in(log)) for log in stage.cluster.log.values())
    if stage.producer.settings.idempotent:
        assert max(Counter(value for log in stage.cluster.log.values() for value in log).values()) == 1


@pytest.mark.lengthy
@pytest.mark.parametrize("seed", [1, 2])
async def test_lost_answers_neither_repeat_nor_reorder_nor_drop_a_record_of_an_idempotent_producer(seed: int) -> None:
    """Without refusals and expiries, that is: after those the producer starts anew and Kafka's too may repeat."""
    draws = random.Random(seed)
    async with producing(cluster_of, linger_ms=20, batch_size=400, draws=draws, enable_idempotence=True) as stage:
        number = 0
        for _ in range(2 * 60_000 // STEP_MS):
            stage.producer.send("t", b"%d." % number * draws.randrange(1, 40), partition=draws.randrange(4))
            number += 1
            silent: set[int] = set()  # a node answers in the order in which it was asked
            for asked in await stage.produced(STEP_MS):
                fate = draws.random()
                if fate >= 0.6:
                    silent.add(asked.node_id)
                elif asked.node_id in silent:
                    continue
                elif fate < 0.4:
                    asked.answer()
                elif fate < 0.5:
                    asked.answer_each(lambda topic, index: draws.choice(RETRIABLE))
                else:
                    asked.lose()
        for _ in range(400):
            for asked in await stage.produced(STEP_MS):
                asked.answer()
    logs = [numbers_in(log) for log in stage.cluster.log.values()]
    assert all(log == sorted(log) for log in logs)
    assert sorted(value for log in logs for value in log) == list(range(number))
