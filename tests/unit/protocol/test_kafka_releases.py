"""The table of request versions says what Kafka's jars say, and is read as it is written."""

import pytest
from stepdown.protocol.api import API, ApiKey
from stepdown.protocol.kafka_releases import (
    KAFKA_3_9,
    api_key_of,
    api_name,
    broker_releases,
    client_releases,
    find_removed_versions,
    first_client_index_with,
    kafka_4_releases,
    versions_of,
)
from support.kafka_releases import TABLE, table

REMOVED_IN_4 = {
    "Produce": 3, "Fetch": 4, "ListOffsets": 1, "OffsetCommit": 2, "OffsetFetch": 1, "CreateTopics": 2,
    "DeleteTopics": 1, "OffsetForLeaderEpoch": 2, "WriteTxnMarkers": 1, "DescribeAcls": 1, "CreateAcls": 1,
    "DeleteAcls": 1, "DescribeConfigs": 1, "AlterReplicaLogDirs": 1, "DescribeLogDirs": 1, "CreateDelegationToken": 1,
    "RenewDelegationToken": 1, "ExpireDelegationToken": 1, "DescribeDelegationToken": 1,
}  # fmt: skip
"""The oldest version of each request that 4.4 has and 3.9.1 has an older one of; WriteTxnMarkers is brokers' own."""


@pytest.mark.java
def test_the_table_is_what_kafkas_jars_say() -> None:
    assert TABLE.read_text() == table()


def test_kafka_4_has_dropped_the_versions_that_kip_896_lists() -> None:
    oldest = {key: versions_of("4.4", key).start for key in range(100) if find_removed_versions("4.4", key)}
    assert {api_name(key): first for key, first in oldest.items()} == REMOVED_IN_4
    in_client_requests = [
        len(find_removed_versions("4.4", key)) for key in oldest if api_name(key) != "WriteTxnMarkers"
    ]
    assert (len(in_client_requests), sum(in_client_requests)) == (18, 26)


def test_4_0_0_alone_lacks_two_versions_of_join_group() -> None:
    assert {release: versions_of(release, 11).start for release in broker_releases()} == {
        release: 2 if release == "4.0.0" else 0 for release in broker_releases()
    }


def test_what_a_broker_does_not_have_is_an_empty_range() -> None:
    assert list(versions_of("3.9.1", 9999)) == []
    assert not find_removed_versions("4.4", 9999)


def test_what_is_served_here_is_what_3_9_1_answers_but_for_the_requests_of_4_0() -> None:
    served = {key: range(spec.min_version, spec.max_version + 1) for key, spec in API.items()}
    others = {ApiKey.CONTROLLED_SHUTDOWN, ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.CONSUMER_GROUP_DESCRIBE}
    assert {key: versions_of(KAFKA_3_9, key) for key in served if key not in others} == {
        key: versions for key, versions in served.items() if key not in others
    }


@pytest.mark.parametrize(
    ("api_key", "version", "release"),
    [
        (0, 0, "0.8.2"),
        (0, 1, "0.9"),
        (1, 2, "0.10.0"),
        (1, 3, "0.10.1"),
        (0, 3, "0.11"),
        (1, 17, "3.9"),
        (1, 99, "4.4"),
    ],
)
def test_a_version_tells_how_old_a_client_is_at_most(api_key: int, version: int, release: str) -> None:
    assert client_releases()[first_client_index_with(api_key, version)] == release


def test_names_are_found_as_logs_write_them() -> None:
    assert api_key_of("LIST_OFFSETS") == api_key_of("ListOffsets") == 2
    assert api_key_of("NO_SUCH") is None
    assert (api_name(1), api_name(9999)) == ("Fetch", "API 9999")


def test_every_release_of_kafka_4_is_known() -> None:
    assert kafka_4_releases() == ("4.0.0", "4.0.1", "4.1", "4.2", "4.3", "4.4")
