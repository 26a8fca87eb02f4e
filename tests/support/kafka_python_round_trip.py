"""Run by itself, with an old kafka-python on the path: writes a record and reads it back.

python kafka_python_round_trip.py TOPIC VALUE SETTINGS      settings of its constructors, as JSON
"""

import json
import sys

import kafka

TIMEOUT_S = 20


def main(topic: str, value: bytes, settings: dict[str, object]) -> None:
    producer = kafka.KafkaProducer(**settings)
    producer.send(topic, value, partition=0).get(TIMEOUT_S)
    producer.close()
    consumer = kafka.KafkaConsumer(
        topic, auto_offset_reset="earliest", consumer_timeout_ms=TIMEOUT_S * 1000, **settings
    )
    read = next(consumer).value
    consumer.close()
    assert read == value, f"read {len(read)} bytes that were not written"


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2].encode(), json.loads(sys.argv[3]))
