"""The software of a client: as it names itself since KIP-511, otherwise guessed from its client id and requests.

The name is guessed from the default client ids of libraries, the release from the newest request version: a client of
0.9 sends no version that 0.10 introduced.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from ...protocol.api import ApiKey
from ...protocol.kafka_releases import client_releases, first_client_index_with

JAVA = "apache-kafka-java"
KAFKA_NODE = "kafka-node"
WITHOUT_LZ4 = frozenset({KAFKA_NODE})
"""Gives the compressed bytes as the value. Of others it is not known: no request says which codecs a client reads."""
STEPDOWN = "stepdown"
"""The commands and the producer of this project."""
GATEWAY = "stepdown-gateway"
"""A gateway's own requests; those of its clients have the client ids of the clients."""
_DEFAULT_CLIENT_IDS = (
    ("kafka-python", r"kafka-python(-producer|-admin)?-.*"),
    ("aiokafka", r"aiokafka-.*"),
    ("librdkafka", r"rdkafka"),
    ("sarama", r"sarama|beats|filebeat|Telegraf"),
    ("franz-go", r"kgo"),
    ("kafka-go", r".*github\.com/segmentio/kafka-go\)?"),
    (KAFKA_NODE, r"kafka-node-client"),
    ("kafkajs", r"kafkajs"),
    ("no-kafka", r"no-kafka-client"),
    ("lua-resty-kafka", r"worker\d+"),
    ("pykafka", r"pykafka"),
    ("ruby-kafka", r"ruby-kafka|fluentd"),
    (STEPDOWN, r"stepdown(-cli)?"),
    (GATEWAY, r"stepdown-gateway(-[0-9a-f]+)*"),
    (JAVA, r"(producer|consumer|adminclient)-\d+|consumer-.+-\d+|console-(producer|consumer)|logstash(-\d+)?"),
)
"""A library, and the default client ids of it and of programs that are built on it."""
_DEFAULTS = tuple((name, re.compile(pattern)) for name, pattern in _DEFAULT_CLIENT_IDS)
_OWN = re.compile(r"stepdown(-[a-z]+)?")
UNKNOWN_SOFTWARE = "unknown"
NEWEST_FETCH_OF_KAFKA_NODE = 2
GUESS = " (guess)"


@dataclass(frozen=True, slots=True)
class Software:
    """A name and a version. If it is a guess, the version is the Kafka release whose clients send such requests."""

    name: str
    version: str
    is_guess: bool

    @property
    def is_stepdown(self) -> bool:
        """Whether it is stepdown's own: its commands and producer use an old version only if told to (`--as`)."""
        return _OWN.fullmatch(self.name) is not None

    @property
    def guess_labels(self) -> tuple[str, str]:
        """Metric labels for a guess, marked as one. They stay few: names and releases come from short fixed lists."""
        return f"{self.name}{GUESS}", f"{self.version}{GUESS}"

    def __str__(self) -> str:
        return f"{self.name}, as of Kafka {self.version}{GUESS}" if self.is_guess else f"{self.name} {self.version}"


def guess_software(client_id: str, asked: Iterable[tuple[int, int]]) -> Software:
    """Guesses the library from the client id, and the release from `asked`: API keys and versions."""
    name = next((name for name, pattern in _DEFAULTS if pattern.fullmatch(client_id)), UNKNOWN_SOFTWARE)
    release = max((first_client_index_with(key, version) for key, version in asked), default=0)
    return Software(name, client_releases()[release], is_guess=True)


def may_be_kafka_node(software: Software, asked: Collection[tuple[int, int]]) -> bool:
    """Whether nothing tells against kafka-node, whatever its client id: it asks for ApiVersions 0, does not name
    itself, and fetches by version 2 at most. Others do that as well, such as librdkafka 0.9."""
    is_unnamed = software.is_guess and software.name == UNKNOWN_SOFTWARE
    return (
        is_unnamed
        and (ApiKey.API_VERSIONS, 0) in asked
        and not any(key == ApiKey.FETCH and version > NEWEST_FETCH_OF_KAFKA_NODE for key, version in asked)
    )
