"""What a broker says of itself, and how it refuses: asked of Kafka and of a broker that acts as that release.

`python -m support.release_probe [RELEASE…]` in tests/ asks the real brokers, and keeps what they answered.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from stepdown.broker.faults.error_responses import error_codes_in
from stepdown.protocol.api import API, ApiKey, ApiSpec
from stepdown.protocol.frame import decode_response
from stepdown.protocol.kafka_releases import api_name, release_of, versions_of
from stepdown.protocol.messages.api_versions import ApiVersion, ApiVersionsRequest
from stepdown.protocol.messages.describe_acls import DescribeAclsRequest
from stepdown.protocol.messages.find_coordinator import FindCoordinatorRequest
from stepdown.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from stepdown.protocol.messages.offset_commit import OffsetCommitRequestPartition, OffsetCommitRequestTopic
from stepdown.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopic
from stepdown.protocol.messages.produce import ProduceRequest
from stepdown.protocol.schema import schema_of

from .client import RawClient
from .deadline import DEADLINE_S
from .kafka import ApacheKafka
from .kafka_4 import NewKafka4
from .kafka_old import OldKafka

RECORDED = Path(__file__).parents[1] / "vectors" / "act_as"
BROKERS: Mapping[str, Callable[[Path], Any]] = {
    "0.10.2": lambda folder: OldKafka(folder, "0.10.2.2"),
    "1.1": lambda folder: OldKafka(folder, "1.1.1"),
    "2.8": lambda folder: OldKafka(folder, "2.8.2"),
    "3.9": ApacheKafka,
    "4.0": lambda folder: NewKafka4(folder, release="4.0.1"),
    "4.1": lambda folder: NewKafka4(folder, release="4.1.1"),
    "4.4": lambda folder: NewKafka4(folder, release="4.4.0"),
}
"""What starts a real broker, by the release that a broker here may act as."""

CLOSED = "closed without a byte"
UNKNOWN_VERSION = 99
NEWEST_HEADER = 3
"""A version of ApiVersions whose header is the newest: an unknown version is taken to have that, too."""
WITH_OWN_ERROR = 2
"""The first version of OffsetFetch that says what is wrong with the group."""
WITH_SEVERAL_GROUPS = 8
ANY, LITERAL = 1, 3  # in rules
LAST_OF_CLIENTS = {ApiKey.ADD_PARTITIONS_TO_TXN: 3}
"""Later versions are for brokers: Kafka never answers one about nothing."""
TOPIC = GROUP = "probe"
NO_OFFSETS = (OffsetFetchRequestTopic(name=TOPIC, partition_indexes=(0,)),)
OFFSETS = (OffsetCommitRequestTopic(name=TOPIC, partitions=(OffsetCommitRequestPartition(partition_index=0),)),)
NOT_ASKED = frozenset(
    (ApiKey.UNREGISTER_BROKER, ApiKey.UPDATE_FEATURES, ApiKey.CONTROLLED_SHUTDOWN, ApiKey.WRITE_TXN_MARKERS)
)
"""They change the cluster, or are for brokers: Kafka never answers a request for no markers."""
ASKED: Mapping[ApiKey, Any] = {
    ApiKey.PRODUCE: ProduceRequest(acks=1, timeout_ms=5_000),
    ApiKey.DESCRIBE_ACLS: DescribeAclsRequest(
        resource_type_filter=ANY, pattern_type_filter=LITERAL, operation=ANY, permission_type=ANY
    ),
    ApiKey.METADATA: MetadataRequest(topics=(MetadataRequestTopic(name="nope!"),)),
}
"""Requests that are not their defaults: acks 0 has no answer, Kafka hangs up on a rule of no kind, and all topics are
not the same everywhere."""


@dataclass(slots=True, kw_only=True)
class Transcript:
    """What a broker answered.

    `versions`: what it advertises. `features`: those that it supports and those in force, by version of ApiVersions.
    `refused_version`: what it answers to a version of ApiVersions that does not exist. `answers`: the error codes by
    request and version, or `CLOSED`.
    """

    versions: dict[str, str] = field(default_factory=dict)
    features: dict[str, Any] = field(default_factory=dict)
    refused_version: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, Any] = field(default_factory=dict)


def recorded(release: str) -> Transcript:
    """What the real broker answered."""
    return Transcript(**json.loads(_path(release).read_text()))


async def probe(address: str, release: str) -> Transcript:
    """The transcript of the broker there, asked for what the release has, and for the versions beside that."""
    host, _, port = address.rpartition(":")
    found = Transcript()
    async with await RawClient.connect(host, int(port)) as client:
        await _wait_for_coordinator(client)
        answer = await client.send(ApiVersionsRequest(), 0)
        found.versions = _ranges(answer.api_keys)
        for version in known(ApiKey.API_VERSIONS, release):
            request = ApiVersionsRequest(client_software_name="probe", client_software_version="1")
            answer = await client.send(request, version)
            found.features[f"v{version}"] = {
                "supported": {
                    each.name: f"{each.min_version}-{each.max_version}"
                    for each in sorted(answer.supported_features, key=lambda each: each.name)
                },
                "finalized": {
                    each.name: each.max_version_level
                    for each in sorted(answer.finalized_features, key=lambda each: each.name)
                },
            }
    refusals = [await _ask_unknown_version(host, int(port), version) for version in unknown(release)]
    found.refused_version = refusals[0]
    assert refusals == [found.refused_version] * len(refusals), "each unknown version has the same answer"
    for spec, version in requests(release):
        found.answers[f"{spec.name} v{version}"] = await _ask(host, int(port), spec, version)
    return found


def requests(release: str) -> Iterator[tuple[ApiSpec, int]]:
    """Each API in its lowest and highest version that the release has and that is known here, and those beside them."""
    for key, spec in API.items():
        if key in NOT_ASKED:
            continue
        both = known(key, release)
        ends = {both[0] - 1, both[0], both[-1]} if both else {0}
        has = versions_of(release_of(release), key)
        if both and has.stop <= spec.max_version:
            ends.add(has.stop)
        if key == ApiKey.API_VERSIONS:
            ends &= set(both)  # another version of it is answered, not refused
        yield from ((spec, version) for version in sorted(ends) if version >= 0)


def known(key: int, release: str) -> range:
    """The versions that both the release and the messages here have."""
    has, spec = versions_of(release_of(release), key), API[ApiKey(key)]
    last = LAST_OF_CLIENTS.get(ApiKey(key), spec.max_version)
    return range(has.start, min(has.stop, last + 1))


def unknown(release: str) -> list[int]:
    """Versions of ApiVersions that the release does not have."""
    has = versions_of(release_of(release), ApiKey.API_VERSIONS)
    return [*range(has.stop, NEWEST_HEADER + 1), UNKNOWN_VERSION]


def _ranges(answered: tuple[ApiVersion, ...]) -> dict[str, str]:
    return {api_name(each.api_key): f"{each.min_version}-{each.max_version}" for each in answered}


async def _ask(host: str, port: int, spec: ApiSpec, version: int) -> Any:
    request = ASKED.get(spec.key) or spec.request()
    if spec.key is ApiKey.OFFSET_COMMIT:
        request = replace(request, topics=OFFSETS)
    elif spec.key is ApiKey.OFFSET_FETCH and version == 0:
        request = replace(request, topics=NO_OFFSETS)
    elif spec.key is ApiKey.OFFSET_FETCH and version >= WITH_SEVERAL_GROUPS:
        request = replace(request, groups=(OffsetFetchRequestGroup(group_id=GROUP),))
    if any(field.name == "group_id" and version in field.versions for field in schema_of(spec.request).fields):
        request = replace(request, group_id=GROUP)
    async with await RawClient.connect(host, port) as client:
        try:
            return sorted(error_codes_in(await client.send(request, version)))
        except ConnectionError:
            return CLOSED


async def _wait_for_coordinator(client: RawClient) -> None:
    """Returns when there is one for groups: codes before that are a matter of time."""
    async with asyncio.timeout(DEADLINE_S):
        while not await _has_coordinator(client):
            pass


async def _has_coordinator(client: RawClient) -> bool:
    if (await client.send(FindCoordinatorRequest(key=GROUP), 0)).error_code:
        return False
    answer = await client.send(OffsetFetchRequest(group_id=GROUP, topics=NO_OFFSETS), WITH_OWN_ERROR)
    return bool(answer.error_code == 0)


async def _ask_unknown_version(host: str, port: int, version: int) -> dict[str, Any]:
    """The answer has the layout of v0."""
    async with await RawClient.connect(host, port) as client:
        frame = bytearray(client.frame(ApiVersionsRequest(), min(version, NEWEST_HEADER)))
        frame[6:8] = version.to_bytes(2, "big")
        await client.send_raw(bytes(frame))
        answered = await client.read_frame()
    assert answered is not None
    _, answer = decode_response(API[ApiKey.API_VERSIONS], 0, memoryview(answered))
    return {"error": answer.error_code, "versions": _ranges(answer.api_keys)}


def ask_real_broker(release: str) -> Transcript:
    """What the real broker answers."""
    with tempfile.TemporaryDirectory() as folder, BROKERS[release](Path(folder)) as kafka:
        return asyncio.run(probe(kafka.address, release))


def _path(release: str) -> Path:
    return RECORDED / f"{release}.json"


if __name__ == "__main__":
    RECORDED.mkdir(exist_ok=True)
    for each in sys.argv[1:] or BROKERS:
        _path(each).write_text(json.dumps(asdict(ask_real_broker(each)), indent=1) + "\n")
        print(each, flush=True)
