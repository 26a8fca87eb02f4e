"""What Kafka's releases have removed is translated, by the tables that are read from its jars."""

from collections.abc import Callable
from typing import cast

import pytest
from stepdown.client.versions import VersionRange
from stepdown.gateway.offered_versions import (
    BETWEEN_BROKERS,
    NEWEST,
    TRANSLATED,
    correct_advertised_ranges,
    is_translated,
    range_to_offer,
    rewrite_api_versions,
)
from stepdown.protocol.api import API, ApiKey
from stepdown.protocol.frame import decode_response_body, encode_response
from stepdown.protocol.kafka_releases import (
    KAFKA_3_9,
    broker_releases,
    find_removed_versions,
    kafka_4_releases,
    versions_of,
)
from stepdown.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse, FinalizedFeatureKey

KEYS = sorted(map(int, ApiKey))


@pytest.mark.parametrize("release", kafka_4_releases())
def test_every_version_that_a_release_removed_is_translated_or_between_brokers(release: str) -> None:
    for key in KEYS:
        left = versions_of(release, key)
        for version in find_removed_versions(release, key):
            if key not in BETWEEN_BROKERS:
                assert is_translated(key, version, (left.start, left.stop - 1)), (key, version)
                assert TRANSLATED[key].sent_as == left.start  # the oldest has the fewest new fields


@pytest.mark.parametrize("release", broker_releases())
def test_a_client_is_offered_what_3_9_had_up_to_what_is_rewritten(release: str) -> None:
    for key in KEYS:
        versions = versions_of(release, key)
        if versions and key not in BETWEEN_BROKERS:
            low, high = range_to_offer(key, (versions.start, versions.stop - 1))
            before = versions_of(KAFKA_3_9, key)
            assert low == (before.start if before else versions.start) or low > high, key
            assert high <= NEWEST.get(key, high)


def test_everything_is_translated_somewhere() -> None:
    removed = {
        (key, version)
        for release in kafka_4_releases()
        for key in KEYS
        if key not in BETWEEN_BROKERS
        for version in find_removed_versions(release, key)
    }
    assert removed == {(key, version) for key, known in TRANSLATED.items() for version in range(known.last + 1)}
    assert len(removed) == 28


def test_a_cluster_of_3_9_gets_everything_as_it_came() -> None:
    for key in KEYS:
        versions = versions_of(KAFKA_3_9, key)
        assert not any(is_translated(key, version, (versions.start, versions.stop - 1)) for version in versions)


def test_kafka_4_says_that_it_takes_produce_from_0_and_does_not() -> None:
    assert correct_advertised_ranges({0: (0, 13), 1: (4, 18)})[0] == (3, 13)
    assert correct_advertised_ranges({0: (0, 11), 1: (0, 17)})[0] == (0, 11)


def offer_what_is_routed(key: int, taken: VersionRange) -> VersionRange:
    """As with one address: Produce up to the version that the gateway can read."""
    low, high = range_to_offer(key, taken)
    return low, min(high, 11)


@pytest.mark.parametrize("version", [3, 4])
@pytest.mark.parametrize(
    ("offered", "newest", "features"),
    [
        (range_to_offer, 13, ["group.version", "transaction.version"]),
        (offer_what_is_routed, 13, ["group.version"]),
        (offer_what_is_routed, 11, ["group.version", "transaction.version"]),
    ],
    ids=["as the cluster has it", "older", "a cluster without it"],
)
def test_who_has_to_add_partitions_to_a_transaction_is_not_told_that_the_leaders_do(
    version: int, offered: Callable[[int, VersionRange], VersionRange], newest: int, features: list[str]
) -> None:
    """A Java producer of 4.4 could not commit through one address: it sent Produce 11 and added nothing."""
    spec = API[ApiKey.API_VERSIONS]
    names = ("group.version", "transaction.version")
    response = ApiVersionsResponse(
        api_keys=(ApiVersion(api_key=0, min_version=3, max_version=newest),),
        throttle_time_ms=7,
        finalized_features_epoch=9,
        finalized_features=[FinalizedFeatureKey(name=each, max_version_level=2, min_version_level=1) for each in names],
    )
    body = b"".join(cast("list[bytes]", encode_response(spec, version, 0, response)))[8:]
    found = decode_response_body(spec, version, memoryview(rewrite_api_versions(version, body, offered)))
    assert [each.name for each in found.finalized_features] == features
    assert (found.finalized_features_epoch, found.throttle_time_ms) == (9, 7)
