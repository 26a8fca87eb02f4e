"""A program that copies a topic into another with our producer: records and offsets in one transaction (KIP-98, 447).

python -m support.producer_copier ADDRESS SOURCE TARGET RECORDS

It says `copied N` after each commit and ends once RECORDS are copied. Killed and started again it goes on where the
last commit was. Each record is sent before the next is read, so that a kill finds a transaction with some of them.
"""

import asyncio
import sys

import aiokafka
from stepdown.producer import GroupMetadata, Producer

GROUP = GroupMetadata(group_id="our-copier")
AT_ONCE = 7


async def main(address: str, source: str, target: str, records: int) -> None:
    place = aiokafka.TopicPartition(source, 0)
    consumer = aiokafka.AIOKafkaConsumer(
        bootstrap_servers=address, group_id=GROUP.group_id, enable_auto_commit=False, isolation_level="read_committed"
    )
    async with Producer(address, transactional_id=f"copy-{source}", linger_ms=1) as producer:
        await producer.init_transactions()
        await consumer.start()
        consumer.assign([place])
        at = await consumer.committed(place) or 0
        consumer.seek(place, at)
        while at < records:
            async with producer.transaction():
                for _ in range(min(AT_ONCE, records - at)):
                    message = await consumer.getone()
                    await producer.send(target, message.value.upper(), key=message.key, partition=0)
                    at = message.offset + 1
                await producer.send_offsets_to_transaction({(source, 0): at}, GROUP)
            print(f"copied {at}", flush=True)
        await consumer.stop()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
