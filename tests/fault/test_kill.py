"""What was acknowledged survives the death of the process at any moment."""

import asyncio
from pathlib import Path
from random import Random

import pytest
from support.acknowledged import Acknowledged
from support.broker import Stepdown

SEGMENTS = {"log.segment.bytes": "65536", "log.index.interval.bytes": "1024", "log.retention.ms": "-1"}


@pytest.mark.parametrize("kills", [pytest.param(8, id="8"), pytest.param(200, id="200", marks=pytest.mark.slow)])
async def test_no_acknowledged_record_is_lost_by_kill_9(tmp_path: Path, kills: int) -> None:
    random = Random(kills)
    broker = Stepdown(tmp_path, properties=SEGMENTS)
    ledger = Acknowledged("kept", 3, seed=kills)
    broker.start()
    broker.create_topic("kept", partitions=3)
    for _ in range(kills):
        enough = asyncio.Event()
        writing = [
            asyncio.create_task(ledger.produce_until_it_breaks(broker.address, enough, random.randint(1, 120)))
            for _ in range(3)
        ]
        await enough.wait()
        broker.kill()  # while requests are in flight
        await asyncio.gather(*writing)
        assert "Traceback" not in broker.log, broker.log[-6000:]
        broker.start()
        assert await ledger.missing(broker.address) == []
    assert len(ledger.promised) > 10 * kills
    broker.stop()
    broker.start()
    assert await ledger.missing(broker.address) == []
    broker.stop()
