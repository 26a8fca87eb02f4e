"""The two requests that docs/architecture.md follows from the socket to bytes go through those files, in that order."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import stepdown
from stepdown.protocol.messages.create_topics import CreateTopicsRequest
from stepdown.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stepdown.protocol.records.record import Record
from support.admin import new_topic
from support.client import RawClient
from support.record_sets import record_set
from support.running import running_broker

ROOT = Path(stepdown.__file__).parent
PAGE = (Path(__file__).parents[3] / "docs" / "architecture.md").read_text()
MOST_FILES = 10
LARGE = Record(offset=0, timestamp=1, key=None, value=bytes(80_000))
WRITTEN = PartitionProduceData(index=0, records=record_set(2, content=[LARGE]))
READ = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 17)
REQUESTS: dict[str, tuple[Any, int]] = {
    "Produce v9": (
        ProduceRequest(acks=-1, timeout_ms=9000, topic_data=(TopicProduceData(name="t", partition_data=(WRITTEN,)),)),
        9,
    ),
    "Fetch v2": (FetchRequest(max_wait_ms=0, min_bytes=0, topics=(FetchTopic(topic="t", partitions=(READ,)),)), 2),
}


def walk_on_the_page(name: str) -> list[str]:
    section = next(part for part in PAGE.split("\n## ") if f"{name}, from the socket to bytes\n" in part)
    return re.findall(r"^\| `([a-z0-9_/]+\.py)`", section, re.MULTILINE)


@contextmanager
def files_called() -> Iterator[list[str]]:
    """Which files of the product have a function called, call after call; compiled functions do not show."""
    called: list[str] = []

    def note(frame: FrameType, event: str, argument: object) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(f"{ROOT}/"):
            called.append(path[len(str(ROOT)) + 1 :])

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield called
    finally:
        sys.setprofile(before)


@pytest.mark.parametrize("name", REQUESTS)
async def test_a_request_goes_the_way_that_the_page_of_the_house_shows(name: str, tmp_path: Path) -> None:
    request, version = REQUESTS[name]
    async with running_broker(tmp_path) as broker:
        client = await RawClient.connect(broker.address.host, broker.address.port)
        await client.send(CreateTopicsRequest(topics=(new_topic("t"),)), 7)
        for warming, its_version in REQUESTS.values():
            await client.send(warming, its_version)
        frame = client.frame(request, version)
        with files_called() as called:
            await client.send_raw(frame)
            await client.read_frame()
        await client.close()
    calls = iter(called)
    page = walk_on_the_page(name)
    assert [path for path in page if path not in calls] == []
    assert len(page) == len(set(page)) <= MOST_FILES
