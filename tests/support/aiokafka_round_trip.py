"""aiokafka writes a record and reads it back: `python aiokafka_round_trip.py TOPIC VALUE SETTINGS` (JSON)."""

import asyncio
import json
import sys
from typing import Any

import aiokafka

DEADLINE_S = 120.0


async def round_trip(topic: str, value: bytes, settings: dict[str, Any]) -> None:
    """Raises AssertionError when something else is read."""
    producer = aiokafka.AIOKafkaProducer(**settings)
    consumer = aiokafka.AIOKafkaConsumer(topic, auto_offset_reset="earliest", **settings)
    try:
        await producer.start()
        await producer.send_and_wait(topic, value, partition=0)
        await consumer.start()
        read = (await consumer.getone()).value
    finally:
        await producer.stop()
        await consumer.stop()
    assert read == value, f"read {len(read)} bytes that were not written"


if __name__ == "__main__":
    asyncio.run(asyncio.wait_for(round_trip(sys.argv[1], sys.argv[2].encode(), json.loads(sys.argv[3])), DEADLINE_S))
