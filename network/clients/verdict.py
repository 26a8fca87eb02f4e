"""Whether brokers of a release would answer the requests that a client was seen to send.

*No*: the client sent a request version that the release dropped; a broker closes the connection there (KIP-896). A
version that is newer than the release is no such reason: such a client asks for the broker's versions first.
*Yes* needs proof, since the client may also send older versions that were not seen yet. Proof is a Produce or Fetch
that the release answers; or another request whose old versions were dropped, if the software names itself or the client
sends no requests of consumers.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum

from ...protocol.api import ApiKey
from ...protocol.kafka_releases import api_name, find_removed_versions, kafka_4_releases, versions_of
from .seen_client import GREETINGS
from .software import JAVA, KAFKA_NODE, Software, may_be_kafka_node


class Compatibility(StrEnum):
    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


_RECORD_APIS = frozenset({ApiKey.PRODUCE, ApiKey.FETCH})
_CONSUMER_APIS = frozenset({ApiKey.LIST_OFFSETS, ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FETCH, ApiKey.JOIN_GROUP})
"""Requests that a consumer sends before its first Fetch."""
NOTHING_TELLS = "it has not sent a request yet that tells"
ONLY_LOOKED = "it has only asked for brokers and topics (Metadata)"

_MENDS = {
    JAVA: "kafka-clients 2.1 or later",
    "kafka-python": "kafka-python 2.0.2 or later without api_version, or with (0, 11, 0) or later",
    "aiokafka": "aiokafka 0.8 or later without api_version",
    "librdkafka": "librdkafka 1.8.2 or later without api.version.request=false and broker.version.fallback",
    "sarama": "Sarama 1.29 or later with Config.Version of V2_1_0_0 or later",
    "kafka-go": "kafka-go 0.4.48 or later",
    KAFKA_NODE: "KafkaJS 2.x or confluent-kafka-javascript: kafka-node is not maintained, and no version of it works "
    "with Kafka 4",
    "pykafka": "another library, such as confluent-kafka: pykafka is not maintained and has no newer requests",
    "no-kafka": "another library, such as KafkaJS: no-kafka is not maintained and has no newer requests",
}
_NO_MEND = "none needed: stepdown sends what its options say (--as)"
_LOOKED_MEND = (
    "if it is to write or read records, it does not reach the address that it is given, which `stepdown cluster -b "
    "HOST:PORT` shows: advertised.listeners of a broker, advertised.host and the ports of brokers of a gateway"
)
_OTHER_MEND = "a client library of Kafka 2.1 or later, without a setting that pins it to an older broker"
_INSTEAD_OF_KAFKA_NODE = "; in place of kafka-node KafkaJS 2.x or confluent-kafka-javascript"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict for one release; `because` has a phrase for each API that the release does not answer."""

    release: str
    works: Compatibility
    because: tuple[str, ...] = ()


def judge_by_release(asked: Collection[tuple[int, int]], software: Software) -> tuple[Verdict, ...]:
    """A verdict for each release of Kafka 4, by the API keys and versions that were asked for."""
    return tuple(_judge_release(release, asked, software) for release in kafka_4_releases())


def find_advice(verdicts: Iterable[Verdict], software: Software, asked: Collection[tuple[int, int]] = ()) -> str:
    """What to change if a verdict is *no*, or if the client has only asked for metadata; "" otherwise.

    `asked`: API keys and versions.
    """
    verdicts = list(verdicts)
    if any(verdict.because == (ONLY_LOOKED,) for verdict in verdicts):
        return "" if software.is_stepdown else _LOOKED_MEND
    if all(verdict.works is not Compatibility.NO for verdict in verdicts):
        return ""
    if software.is_stepdown:
        return _NO_MEND
    other = _OTHER_MEND + (_INSTEAD_OF_KAFKA_NODE if may_be_kafka_node(software, asked) else "")
    return _MENDS.get(software.name, other)


def _judge_release(release: str, asked: Collection[tuple[int, int]], software: Software) -> Verdict:
    missing: dict[int, list[int]] = {}
    for key, version in sorted(asked):
        there = versions_of(release, key)
        if not there or version < there.start:
            missing.setdefault(key, []).append(version)
    if missing:
        return Verdict(
            release,
            Compatibility.NO,
            tuple(_describe_missing_versions(release, key, found) for key, found in missing.items()),
        )
    keys = {key for key, _ in asked}
    if _is_proven(release, keys, software):
        return Verdict(release, Compatibility.YES)
    return Verdict(
        release, Compatibility.UNKNOWN, (ONLY_LOOKED if keys - GREETINGS == {ApiKey.METADATA} else NOTHING_TELLS,)
    )


def _is_proven(release: str, keys: Collection[int], software: Software) -> bool:
    if not _RECORD_APIS.isdisjoint(keys):
        return True
    tells = any(
        find_removed_versions(release, key) for key in keys if key != ApiKey.JOIN_GROUP
    )  # its old versions are missing in 4.0.0 only
    return tells and (not software.is_guess or _CONSUMER_APIS.isdisjoint(keys))


def _describe_missing_versions(release: str, key: int, versions: list[int]) -> str:
    there = versions_of(release, key)
    left = f"{there.start} is the oldest there" if there else "it is not there"
    return f"{api_name(key)} {', '.join(map(str, versions))} ({left})"
