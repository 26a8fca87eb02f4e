"""Somebody removes the folder of a partition while it is served.

Writes went on into files without a name, and were acknowledged; nothing of them was left.
"""

import shutil
from pathlib import Path
from urllib.request import urlopen

import pytest
from stepdown.bench.servers.admin_connection import Connection
from stepdown.bench.servers.process import wait_until
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.record import Record
from support.broker import Stepdown
from support.fetching import fetch

BATCH = build_batch([Record(offset=0, timestamp=1, key=None, value=b"x", headers=())], magic=2)


def produced(connection: Connection, partition: int) -> int:
    """The error code of a record for the partition."""
    data = PartitionProduceData(index=partition, records=BATCH)
    topic = TopicProduceData(name="t", partition_data=(data,))
    answer = connection.call(ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=(topic,)), 7)
    return int(answer.responses[0].partition_responses[0].error_code)


def fetched(connection: Connection, partition: int) -> int:
    """The error code of a fetch from the partition's first offset."""
    answer = connection.call(fetch("t", partitions=(partition,)), 11)
    return int(answer.responses[0].partitions[0].error_code)


@pytest.mark.parametrize("was_moved_away", [False, True], ids=["removed", "moved"])
def test_a_partition_whose_folder_is_gone_is_offline_and_not_made_again(tmp_path: Path, was_moved_away: bool) -> None:
    with Stepdown(tmp_path, properties={"log.retention.ms": "-1"}) as broker:
        broker.create_topic("t", partitions=2)
        with Connection(broker.address) as connection:
            assert [produced(connection, index) for index in (0, 1)] == [ErrorCode.NONE] * 2
            if was_moved_away:
                (broker.log_dir / "t-0").rename(tmp_path / "elsewhere")
            else:
                shutil.rmtree(broker.log_dir / "t-0")
            wait_until(lambda: "t-0 is offline" in broker.log, "the folder is missed")
            assert produced(connection, 0) == ErrorCode.KAFKA_STORAGE_ERROR
            assert fetched(connection, 0) == ErrorCode.KAFKA_STORAGE_ERROR
            assert produced(connection, 1) == fetched(connection, 1) == ErrorCode.NONE
        with urlopen(f"http://{broker.http}/readyz") as page:
            assert page.status == 200
        assert not (broker.log_dir / "t-0").exists()
        assert "Traceback" not in broker.log
