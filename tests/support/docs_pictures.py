"""Takes the pictures of the page that docs/ has: `python -m support.docs_pictures` in tests/. Needs Chromium.

A consumer as of 0.9 reads what a modern producer writes, and a group lags behind.
"""

import asyncio
import json
import random
import tempfile
from pathlib import Path

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from kafka import KafkaConsumer, TopicPartition

from .broker import Stepdown
from .browser import chromium
from .maven import REPOSITORY_ROOT

DOCS = REPOSITORY_ROOT / "docs"
WIDTH, HEIGHT = 1280, 900
SECONDS = 12
SETTINGS = {"offsets.topic.num.partitions": "1"}
PICTURES = {"page.png": ("overview", "Fetch"), "page-records.png": ("records/orders/0", "customer")}
"""The view that each shows, and a text that it has to have."""


def read_as_an_old_client(address: str) -> None:
    consumer = KafkaConsumer(
        bootstrap_servers=address, api_version=(0, 9), client_id="till-7", consumer_timeout_ms=SECONDS * 1000
    )
    consumer.assign([TopicPartition("orders", number) for number in range(3)])
    consumer.seek_to_beginning()
    for _ in consumer:
        pass
    consumer.close()


async def write(address: str) -> None:
    chosen = random.Random(1)
    async with AIOKafkaProducer(bootstrap_servers=address, client_id="shop", compression_type="lz4") as producer:
        while True:
            order = {"customer": f"customer {chosen.randrange(900)}", "items": chosen.randrange(1, 9), "paid": True}
            await producer.send("orders", json.dumps(order).encode(), key=str(order["items"]).encode())
            await asyncio.sleep(0.002)


async def lag(address: str) -> None:
    async with AIOKafkaConsumer(
        "orders", bootstrap_servers=address, group_id="billing", client_id="billing-1", max_poll_records=100
    ) as consumer:
        while True:
            await consumer.getmany(timeout_ms=100)
            await asyncio.sleep(1)


async def take_pictures(broker: Stepdown, folder: Path) -> None:
    address = broker.address
    clients = [asyncio.create_task(each(address)) for each in (write, lag)]
    old = asyncio.create_task(asyncio.to_thread(read_as_an_old_client, address))
    async with chromium(folder / "profile") as tab:
        await tab.resize(WIDTH, "light")
        for name, (view, text) in PICTURES.items():
            await tab.show(f"http://{broker.http}/#/{view}", text)
            await asyncio.sleep(SECONDS / 3)  # for rates to be those of a while
            await tab.picture(DOCS / name, HEIGHT)
    for each in clients:
        each.cancel()
    await asyncio.gather(old, *clients, return_exceptions=True)


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder, Stepdown(Path(folder), properties=SETTINGS) as broker:
        broker.create_topic("orders", partitions=3)
        await take_pictures(broker, Path(folder))


if __name__ == "__main__":
    asyncio.run(main())
