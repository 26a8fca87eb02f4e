"""A million records of 1 kB that nobody awaits take `buffer.memory` and 32 MiB at most, whatever the loop does."""

import json
import subprocess
import sys

import pytest
from support.broker import BrokerProcess

RECORDS, RECORD_BYTES, BUFFER_MEMORY, MORE = 1_000_000, 1000, 32 * 1024 * 1024, 32 * 1024 * 1024

PROGRAM = """
import asyncio, json, sys
from pathlib import Path
from stepdown.producer import BufferExhausted, Producer

address, topic, records, record_bytes, memory, turn = *sys.argv[1:3], *map(int, sys.argv[3:])


def status(field):
    return int(Path("/proc/self/status").read_text().split(field + ":")[1].split()[0]) * 1024


async def main():
    async with Producer(address, buffer_memory=memory) as producer:
        await producer.send(topic, b"first")
        before, refused, errors = status("VmRSS"), 0, []
        for number in range(records):
            try:
                producer.send(topic, b"%0*d" % (record_bytes, number), callback=lambda m, e: e and errors.append(e))
            except BufferExhausted:
                refused += 1
                if turn:
                    await asyncio.sleep(0.001)
            if turn and number % turn == 0:
                await asyncio.sleep(0)
        await producer.flush()
        print(json.dumps({"grown": status("VmHWM") - before, "refused": refused, "failed": len(errors)}))


asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("turn", [0, 1000], ids=["never lets the loop go", "lets it go each 1000"])
def test_a_million_unawaited_records_are_bounded(broker: BrokerProcess, turn: int) -> None:
    topic = f"memory-{turn}"
    broker.create_topic(topic, configs={"retention.bytes": "100000000", "segment.bytes": "50000000"})
    arguments = [broker.address, topic, *map(str, (RECORDS, RECORD_BYTES, BUFFER_MEMORY, turn))]
    run = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=True)
    told = json.loads(run.stdout)
    print(f"grew by {told['grown'] / (1 << 20):.1f} MiB; {told['refused']} refused at once, {told['failed']} failed")
    assert told["failed"] == 0
    assert told["grown"] <= BUFFER_MEMORY + MORE
