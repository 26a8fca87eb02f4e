"""A producer before a broker that answers whatever it likes: records end, nothing grows, no log line is forged."""

import asyncio
import logging
import random
from typing import Any

import pytest
from stepdown.producer import ProducerError
from stepdown.producer.metadata import MAX_BROKERS
from stepdown.producer.network.connections import MAX_NODES
from stepdown.protocol.api import ApiKey
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.produce import BatchIndexAndErrorMessage
from support.hostile.broker import HostileBroker, producing_hostile
from support.producing import producing

DELIVERY_MS = 2000
RECORDS = 12
SEEDS = 60
PLAIN = {
    "delivery_timeout_ms": DELIVERY_MS,
    "request_timeout_ms": 500,
    "max_block_ms": 1000,
    "retry_backoff_ms": 1,
    "retry_backoff_max_ms": 1,
    "reconnect_backoff_ms": 1,
    "reconnect_backoff_max_ms": 1,
    "metadata_max_age_ms": 300,
}
SHAPES: dict[str, tuple[dict[str, Any], set[ApiKey]]] = {
    "plain": ({"enable_idempotence": False}, {ApiKey.API_VERSIONS, ApiKey.METADATA, ApiKey.PRODUCE}),
    "idempotent": ({}, {ApiKey.INIT_PRODUCER_ID, ApiKey.PRODUCE}),
    "login": (
        {
            "enable_idempotence": False,
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "SCRAM-SHA-256",
            "sasl_username": "alice",
            "sasl_password": "secret",
        },
        {ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE},
    ),
}
TRANSACTIONAL = {
    ApiKey.FIND_COORDINATOR,
    ApiKey.INIT_PRODUCER_ID,
    ApiKey.ADD_PARTITIONS_TO_TXN,
    ApiKey.ADD_OFFSETS_TO_TXN,
    ApiKey.TXN_OFFSET_COMMIT,
    ApiKey.END_TXN,
}


class Watch(logging.Handler):
    """Keeps what the producer and its loop said went wrong in themselves, and lines that are more than one."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.exc_info or record.levelno >= logging.ERROR or not text.isprintable():
            self.faults.append(self.format(record))

    def take(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.faults.append(str(context))


@pytest.fixture
def watch() -> Any:
    handler = Watch()
    logger = logging.getLogger("stepdown.producer")
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)


@pytest.mark.parametrize("shape", SHAPES)
async def test_every_record_ends_whatever_a_broker_answers(shape: str, watch: Watch) -> None:
    """An error's text from a broker forged log lines, and one partition's number made a million partitions."""
    settings, keys = SHAPES[shape]
    asyncio.get_running_loop().set_exception_handler(watch.take)
    answered: set[ApiKey] = set()
    for seed in range(SEEDS):
        broker = HostileBroker(random.Random(f"{shape} {seed}"), harm=0.4)
        await send_all(broker, settings)
        answered |= broker.answered.keys()
        assert watch.faults == [], seed
    assert keys <= answered


async def send_all(broker: HostileBroker, settings: dict[str, Any]) -> None:
    async with producing_hostile(broker, **PLAIN | settings) as (producer, network, clock):
        sent = []
        for number in range(RECORDS):
            sent.append(producer.send("t", b"value", key=b"key" if number % 2 else None))
            await clock.advance(20)
        for _ in range(DELIVERY_MS // 100 + 11):
            await clock.advance(100)
        assert [each.done() for each in sent] == [True] * RECORDS
        assert all(str(error).isprintable() for each in sent if (error := each.exception()) is not None)
        assert len(network._nodes) <= MAX_NODES
        assert len(producer._metadata.nodes) <= MAX_BROKERS
        assert producer.metrics()["buffer-available-bytes"] == producer.metrics()["buffer-total-bytes"]


async def test_every_call_of_a_transaction_ends_whatever_a_broker_answers(watch: Watch) -> None:
    """Answers to the calls of a transaction are read as those to Produce are: damaged ones must not hold it."""
    asyncio.get_running_loop().set_exception_handler(watch.take)
    answered: set[ApiKey] = set()
    for seed in range(SEEDS):
        broker = HostileBroker(random.Random(seed), harm=0.2)
        await transact(broker)
        answered |= broker.answered.keys()
        assert watch.faults == [], seed
    assert answered >= TRANSACTIONAL


async def transact(broker: HostileBroker) -> None:
    async with producing_hostile(broker, **PLAIN, transactional_id="x") as (producer, _, clock):

        async def work() -> None:
            await producer.init_transactions()
            for _ in range(5):
                try:
                    producer.begin_transaction()
                    sent = producer.send("t", b"value")
                    await producer.send_offsets_to_transaction({("t", 0): 1}, "group")
                    await sent
                    await producer.commit_transaction()
                except ProducerError:
                    await producer.abort_transaction()

        task = asyncio.get_running_loop().create_task(work())
        for _ in range(400):
            await clock.advance(50)
        assert task.done()
        if (error := task.exception()) is not None:
            assert isinstance(error, ProducerError)
            assert str(error).isprintable()


FORGED = "no\n2026-01-01 ERROR stepdown: all is lost\x1b[2J" + "!" * 100_000
MOST_CHARACTERS = 1200


@pytest.mark.parametrize(
    "fields",
    [
        {"error_message": FORGED},
        {"record_errors": [BatchIndexAndErrorMessage(batch_index=0, batch_index_error_message=FORGED)]},
    ],
    ids=["of a batch", "of a record"],
)
async def test_a_text_of_a_broker_is_one_short_line(fields: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    """Control characters in the text of an error forged log lines, and its length was the line's."""
    async with producing() as stage:
        sent = stage.producer.send("t", b"v")
        stage.producer.send("t", b"nobody waits for it")
        [request] = await stage.produced()
        request.answer(ErrorCode.INVALID_RECORD, **fields)
        texts = [str(sent.exception()), *(record.getMessage() for record in caplog.records)]
    assert len(texts) > 1
    assert all(text.isprintable() and len(text) < MOST_CHARACTERS for text in texts)
