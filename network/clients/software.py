"""What a client's software is: as it says since KIP-511, else guessed from its client id and its requests.

Client ids are the libraries' own defaults. How old a client is follows from the newest version that it asked for: a
client of 0.9 never sends what 0.10 brought.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ...protocol.kafka_releases import client_releases, first_client_index_with

JAVA = "apache-kafka-java"
STEPDOWN = "stepdown"
"""Its commands and its producer."""
GATEWAY = "stepdown-gateway"
"""What a gateway asks itself; the requests of its clients have their own client ids."""
_DEFAULT_CLIENT_IDS = (
    ("kafka-python", r"kafka-python(-producer|-admin)?-.*"),
    ("aiokafka", r"aiokafka-.*"),
    ("librdkafka", r"rdkafka"),
    ("sarama", r"sarama|beats|filebeat|Telegraf"),
    ("franz-go", r"kgo"),
    ("kafka-go", r".*github\.com/segmentio/kafka-go\)?"),
    ("kafka-node", r"kafka-node-client"),
    ("kafkajs", r"kafkajs"),
    ("no-kafka", r"no-kafka-client"),
    ("lua-resty-kafka", r"worker\d+"),
    ("pykafka", r"pykafka"),
    ("ruby-kafka", r"ruby-kafka|fluentd"),
    (STEPDOWN, r"stepdown(-cli)?"),
    (GATEWAY, r"stepdown-gateway(-[0-9a-f]+)*"),
    (JAVA, r"(producer|consumer|adminclient)-\d+|consumer-.+-\d+|console-(producer|consumer)|logstash(-\d+)?"),
)
"""A library and the client ids that it, or what is built on it, has where nobody sets one."""
_DEFAULTS = tuple((name, re.compile(pattern)) for name, pattern in _DEFAULT_CLIENT_IDS)
_OWN = re.compile(r"stepdown(-[a-z]+)?")
UNKNOWN_SOFTWARE = "unknown"
GUESS = " (guess)"


@dataclass(frozen=True, slots=True)
class Software:
    """A name and a version; of a guess, the version is the Kafka release whose clients send such requests."""

    name: str
    version: str
    is_guess: bool

    @property
    def is_own(self) -> bool:
        """Whether it is stepdown's: a command or a producer that speaks an old version was asked to (`--as`)."""
        return _OWN.fullmatch(self.name) is not None

    @property
    def labels(self) -> tuple[str, str]:
        """Of a guess, as labels of a metric: of a few names and releases."""
        return f"{self.name}{GUESS}", f"{self.version}{GUESS}"

    def __str__(self) -> str:
        return f"{self.name}, as of Kafka {self.version}{GUESS}" if self.is_guess else f"{self.name} {self.version}"


def guess_software(client_id: str, asked: Iterable[tuple[int, int]]) -> Software:
    """The library by the client id, the release by what was asked: API keys and versions."""
    name = next((name for name, pattern in _DEFAULTS if pattern.fullmatch(client_id)), UNKNOWN_SOFTWARE)
    release = max((first_client_index_with(key, version) for key, version in asked), default=0)
    return Software(name, client_releases()[release], is_guess=True)
