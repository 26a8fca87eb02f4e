"""stepdown and Kafka have one log directory in turn: nothing is lost, and nothing comes twice."""

import asyncio
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

import pytest
from support.handover import SETTINGS, Client, kafka_over
from support.kafka import ApacheKafka
from support.kafka_4 import LATEST, ApacheKafka4
from support.running import running_broker

pytestmark = pytest.mark.java

STEPS = 12
HAND_OVERS = 10
SEEDS = int(os.environ.get("HANDOVER_SEEDS", "3"))


async def with_stepdown(folder: Path, client: Client, *, is_killed: bool) -> None:
    settings = {key.replace(".", "_"): value for key, value in SETTINGS.items()}
    async with running_broker(folder / "data", **settings) as broker:
        await asyncio.to_thread(client.check, str(broker.address))
        await asyncio.to_thread(client.work, str(broker.address), STEPS)
        await asyncio.to_thread(client.check, str(broker.address))
        if is_killed:
            broker.stop = broker.kill  # type: ignore[method-assign]


def with_kafka(
    folder: Path, client: Client, *, is_killed: bool, kind: Callable[..., ApacheKafka] = ApacheKafka
) -> None:
    kafka = kafka_over(folder, kind)
    kafka.start()
    try:
        client.check(kafka.address)
        client.work(kafka.address, STEPS)
        client.check(kafka.address)
    finally:
        if is_killed:
            kafka.kill()
        else:
            kafka.stop()


async def walk(folder: Path, seed: int, hand_overs: int) -> None:
    random = Random(seed)
    client = Client(Random(seed))
    for number in range(hand_overs):
        is_killed = random.random() < 0.5
        if number % 2 == 0:
            await with_stepdown(folder, client, is_killed=is_killed)
        else:
            await asyncio.to_thread(with_kafka, folder, client, is_killed=is_killed)
    await with_stepdown(folder, client, is_killed=False)
    print(f"seed {seed}: {client.totals()}")


async def test_stepdown_then_kafka_3_9_then_kafka_4_then_stepdown(tmp_path: Path) -> None:
    client = Client(Random(1))
    await with_stepdown(tmp_path, client, is_killed=True)
    await asyncio.to_thread(with_kafka, tmp_path, client, is_killed=False)
    await asyncio.to_thread(with_kafka, tmp_path, client, is_killed=True, kind=partial(ApacheKafka4, release=LATEST))
    await with_stepdown(tmp_path, client, is_killed=False)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SEEDS))
async def test_ten_hand_overs_lose_and_double_nothing(tmp_path: Path, seed: int) -> None:
    await walk(tmp_path, seed, HAND_OVERS)
