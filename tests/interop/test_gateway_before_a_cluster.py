"""The gateway before three nodes of Kafka 4.4.0, one of which is killed while old and new clients write."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.cluster_writers import SETTINGS, NewWriter, OldWriter, Writer, bootstrap, create, read_all
from support.deadline import DEADLINE_S
from support.gateway_process import GatewayProcess
from support.kafka_cluster import ApacheKafkaCluster

pytestmark = [pytest.mark.java, pytest.mark.slow]

PARTITIONS = 6
RECORDS = 3_000


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafkaCluster]:
    with ApacheKafkaCluster(tmp_path_factory.mktemp("kafka"), SETTINGS, is_latest=True) as cluster:
        yield cluster


@pytest.mark.parametrize("addresses", ["ports", "single"])
def test_nothing_that_was_acknowledged_is_lost_while_a_node_is_killed(
    cluster: ApacheKafkaCluster, tmp_path: Path, addresses: str
) -> None:
    topics = {OldWriter: f"old-{addresses}", NewWriter: f"new-{addresses}"}
    with GatewayProcess(tmp_path, bootstrap(cluster), addresses=addresses, refresh_interval_ms=500) as gateway:
        for topic in topics.values():
            create(gateway.address, topic, PARTITIONS)
        writers: list[Writer] = [kind(gateway.address, topic) for kind, topic in topics.items()]
        is_under_way = threading.Event()

        def write(writer: Writer) -> None:
            for number in range(RECORDS):
                writer.write(b"%d" % number)
                if number == RECORDS // 10:
                    is_under_way.set()
            writer.finish()

        threads = [threading.Thread(target=write, args=(writer,)) for writer in writers]
        for thread in threads:
            thread.start()
        assert is_under_way.wait(DEADLINE_S)
        cluster.brokers[3].kill()
        cluster.brokers[3].start()
        for thread in threads:
            thread.join()
        for writer, topic in zip(writers, topics.values(), strict=True):
            assert len(writer.acknowledged) == RECORDS, "every record is acknowledged in the end"
            direct = read_all(bootstrap(cluster), topic, PARTITIONS)
            assert set(writer.acknowledged) <= set(direct)
            assert sorted(read_all(gateway.address, topic, PARTITIONS)) == sorted(direct)
            if isinstance(writer, NewWriter):
                assert len(direct) == RECORDS, "an idempotent producer has no duplicates"
