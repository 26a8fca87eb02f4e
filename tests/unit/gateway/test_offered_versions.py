"""What Kafka's releases have removed is translated, by the tables that are read from its jars."""

import pytest
from stepdown.gateway.offered_versions import BETWEEN_BROKERS, NEWEST, TRANSLATED, is_translated, offer, true_ranges
from stepdown.protocol.api import ApiKey
from stepdown.protocol.kafka_releases import KAFKA_3_9, broker_releases, kafka_4_releases, removals, versions_of

KEYS = sorted(map(int, ApiKey))


@pytest.mark.parametrize("release", kafka_4_releases())
def test_every_version_that_a_release_removed_is_translated_or_between_brokers(release: str) -> None:
    for key in KEYS:
        left = versions_of(release, key)
        for version in removals(release, key):
            if key not in BETWEEN_BROKERS:
                assert is_translated(key, version, (left.start, left.stop - 1)), (key, version)
                assert TRANSLATED[key].sent_as == left.start  # the oldest has the fewest new fields


@pytest.mark.parametrize("release", broker_releases())
def test_a_client_is_offered_what_3_9_had_up_to_what_is_rewritten(release: str) -> None:
    for key in KEYS:
        versions = versions_of(release, key)
        if versions and key not in BETWEEN_BROKERS:
            low, high = offer(key, (versions.start, versions.stop - 1))
            before = versions_of(KAFKA_3_9, key)
            assert low == (before.start if before else versions.start) or low > high, key
            assert high <= NEWEST.get(key, high)


def test_everything_is_translated_somewhere() -> None:
    removed = {
        (key, version)
        for release in kafka_4_releases()
        for key in KEYS
        if key not in BETWEEN_BROKERS
        for version in removals(release, key)
    }
    assert removed == {(key, version) for key, known in TRANSLATED.items() for version in range(known.last + 1)}
    assert len(removed) == 28


def test_a_cluster_of_3_9_gets_everything_as_it_came() -> None:
    for key in KEYS:
        versions = versions_of(KAFKA_3_9, key)
        assert not any(is_translated(key, version, (versions.start, versions.stop - 1)) for version in versions)


def test_kafka_4_says_that_it_takes_produce_from_0_and_does_not() -> None:
    assert true_ranges({0: (0, 13), 1: (4, 18)})[0] == (3, 13)
    assert true_ranges({0: (0, 11), 1: (0, 17)})[0] == (0, 11)
