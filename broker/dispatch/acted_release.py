"""What a broker serves while it acts as a release of Apache Kafka: the API versions that both know.

Source: the tables of `protocol/kafka_releases.py`. Requests of a test itself are served in every version.
"""

from collections.abc import Mapping
from dataclasses import replace

from ...protocol.api import ApiKey
from ...protocol.errors import ApiError, CorruptRecord, ErrorCode
from ...protocol.kafka_releases import KAFKA_3_9, release_of, versions_of
from ...protocol.records.layout import MAGIC_OFFSET, MAGIC_V2
from .served_api import ServedApi

WITHOUT_RANGE = ("0.10.2", "1.1")
"""Releases before 2.4, which do not name their versions when they refuse an ApiVersions request (KIP-511)."""
BEFORE_MAGIC_2 = "0.10.2"
WITH_OLD_OFFSETS_REFUSED = "3.9"
"""The only release that knows the versions for offsets in ZooKeeper but runs without ZooKeeper."""


def apis_of(release: str, served: Mapping[ApiKey, ServedApi]) -> dict[ApiKey, ServedApi]:
    """The served APIs, in the versions that the release knows too. Raises: ValueError for an unknown release."""
    known = release_of(release)
    found = {}
    for key, api in served.items():
        has = versions_of(known, key)
        if has and has.start <= api.last and api.first < has.stop:
            found[key] = replace(api, first=max(api.first, has.start), last=min(api.last, has.stop - 1))
    return found


def oldest_to_advertise(release: str, key: ApiKey, api: ServedApi) -> int:
    """The oldest version that ApiVersions names: Kafka 4 names Produce 0 though it refuses those below 3
    (KAFKA-18659).
    """
    has_no_old_ones = versions_of(release_of(release), key).start > versions_of(KAFKA_3_9, key).start
    return 0 if key is ApiKey.PRODUCE and has_no_old_ones else api.first


def refuse_zookeeper_offsets(release: str | None, version: int) -> None:
    """Raises: ApiError UNSUPPORTED_VERSION for offsets of v0, which Kafka keeps in ZooKeeper."""
    if version == 0 and release == WITH_OLD_OFFSETS_REFUSED:
        raise ApiError("offsets of version 0 are kept in ZooKeeper, and there is none", ErrorCode.UNSUPPORTED_VERSION)


def check_magic(release: str | None, records: memoryview) -> None:
    """Raises: CorruptRecord for magic 2 at Kafka before 0.11, which takes the leader epoch there for a checksum."""
    if release == BEFORE_MAGIC_2 and len(records) > MAGIC_OFFSET and records[MAGIC_OFFSET] == MAGIC_V2:
        raise CorruptRecord("Kafka 0.10.2, which stepdown.act.as names, does not know records of magic 2")
