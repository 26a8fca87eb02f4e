"""A program that copies a topic into another exactly once: offsets and records in one transaction (KIP-98, 447).

python -m support.transactional_copier ADDRESS SOURCE TARGET PARTITIONS RECORDS SEED

It says `copied N` after each commit and ends with 0 once all of RECORDS are copied from each partition. Whatever goes
wrong ends it with another code: who starts it again with the same arguments goes on where the last commit was.
"""

import random
import sys

import confluent_kafka

from .deadline import DEADLINE_S

GROUP = "copier"
MOST_RECORDS = 20
ABORTED = 0.2
# librdkafka 2.16 loses its only broker when that goes away for a moment: it begins anew from the bootstrap address, and
# what was waiting for the former connection waits for ever.
STAY = {"metadata.recovery.strategy": "none", "reconnect.backoff.max.ms": 100}


def main(address: str, source: str, target: str, partitions: int, records: int, seed: int) -> int:
    """The exit code."""
    noise = random.Random(seed)
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": address,
            "transactional.id": f"copy-{source}",
            "transaction.timeout.ms": 10_000,
            "linger.ms": 1,
            "retry.backoff.ms": 20,
        }
        | STAY
    )
    producer.init_transactions(DEADLINE_S)
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": address,
            "group.id": GROUP,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 20,
        }
        | STAY
    )
    asked = [confluent_kafka.TopicPartition(source, index) for index in range(partitions)]
    at = {place.partition: max(0, place.offset) for place in consumer.committed(asked, DEADLINE_S)}
    while any(offset < records for offset in at.values()):
        copy_some(producer, consumer, source, target, at, records, noise)
        print(f"copied {sum(at.values())}", flush=True)
    return 0


def copy_some(
    producer: confluent_kafka.Producer,
    consumer: confluent_kafka.Consumer,
    source: str,
    target: str,
    at: dict[int, int],
    records: int,
    noise: random.Random,
) -> None:
    """One transaction, which may be aborted and done again."""
    consumer.assign([confluent_kafka.TopicPartition(source, index, offset) for index, offset in at.items()])
    producer.begin_transaction()
    copied = dict(at)
    for _ in range(noise.randint(1, MOST_RECORDS)):
        if all(offset >= records for offset in copied.values()):
            break
        message = consumer.poll(DEADLINE_S)
        if message is None or message.error() is not None:
            raise RuntimeError(f"nothing to copy: {message and message.error()}")
        producer.produce(target, message.value(), key=message.key(), partition=message.partition())
        copied[message.partition()] = message.offset() + 1
    places = [confluent_kafka.TopicPartition(source, index, offset) for index, offset in copied.items()]
    producer.send_offsets_to_transaction(places, consumer.consumer_group_metadata(), DEADLINE_S)
    if noise.random() < ABORTED:
        producer.flush(DEADLINE_S)
        producer.abort_transaction(DEADLINE_S)
    else:
        producer.commit_transaction(DEADLINE_S)
        at.update(copied)


if __name__ == "__main__":
    address, source, target, *numbers = sys.argv[1:]
    sys.exit(main(address, source, target, *map(int, numbers)))
