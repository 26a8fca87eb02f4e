"""Topics that were deleted before real brokers of old died are not missed by the pipeline.

0.8.2.2 leaves them in its recovery points for up to a minute; 1.1.1 takes them out as it deletes them.
"""

from pathlib import Path

import pytest
from pyspark.sql.types import LongType, StructField, StructType
from stepdown.pipeline.sources.kafka_segments import SegmentsReader
from stepdown.pipeline.sources.options import read_options
from support.clients import Client
from support.clients_java import OTHER_GENERATIONS, SCALA_0_8_2
from support.clients_raw import wait_until
from support.kafka_old import OldKafka
from support.samples import written_by

JAVA_1_1: Client = next(client for client in OTHER_GENERATIONS if client.name == "java-1.1.1")
SCHEMA = StructType([StructField("offset", LongType())])


@pytest.mark.java
@pytest.mark.parametrize("writer", [SCALA_0_8_2, JAVA_1_1], ids=["0.8.2.2", "1.1.1"])
def test_a_topic_that_was_deleted_before_the_broker_died_is_not_missed(writer: Client, tmp_path: Path) -> None:
    version = "0.8.2.2" if writer is SCALA_0_8_2 else "1.1.1"
    properties = {"delete.topic.enable": "true", "log.segment.delete.delay.ms": "1"}
    with OldKafka(tmp_path, version, properties=properties) as kafka:
        for topic in ("written-and-kept", "written-and-deleted"):
            kafka.create_topic(topic)
            writer.produce(kafka.address, "writer", topic, 0, written_by(writer), "gzip")
        kafka.stop()  # recovery points name both
        kafka.start()
        kafka.run_tool("kafka.admin.TopicCommand", "--delete", "--topic", "written-and-deleted")
        marks = kafka.log_dir / "replication-offset-checkpoint"
        wait_until(lambda: not (kafka.log_dir / "written-and-deleted-0").exists(), "the folder is gone")
        wait_until(lambda: "written-and-deleted" not in marks.read_text(), "the high watermarks are without it")
        kafka.kill()
        (task,) = SegmentsReader(read_options({"path": str(kafka.log_dir)}), SCHEMA).partitions()
    assert {split.topic for split in task.splits} == {"written-and-kept"}
