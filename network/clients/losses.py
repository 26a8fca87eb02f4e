"""What is lost for clients whose requests have no field for it, and what operators can do about it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from ...protocol.plural import describe_duration

TIMESTAMPS = "timestamps"
ZSTD = "zstd"
"""Counts partitions of fetches that were refused, since the client cannot read zstd."""
LZ4 = "lz4"
"""Counts partitions of fetches with LZ4, whose compressed bytes the client takes for the value of a record."""
LZ4_OF_KAFKA_NODE = "lz4 if kafka-node"
"""The same of a client that may be kafka-node, which does not say so."""
MOST_TOPICS = 10
"""At most this many topics are kept for each kind of loss."""
MOST_TOPIC_LENGTH = 249

OVER_MS = 600_000
"""A client that went on for so long without a loss needs no advice on it any more."""

_NAMES = {
    ZSTD: "zstd, in fetches of a partition",
    LZ4: "records in LZ4, in fetches of a partition",
    LZ4_OF_KAFKA_NODE: "if it is kafka-node, records in LZ4, in fetches of a partition, which it could not read",
}
"""What is counted, where the kind alone does not say so."""
_AT_BROKER = (
    "set stepdown.downconversion.zstd=gzip, where nothing restarts: stepdown configs alter broker -c "
    "stepdown.downconversion.zstd=gzip -b {servers}"
)
_AT_GATEWAY = (
    "set stepdown.downconversion.zstd: gzip in the gateway's file, or STEPDOWN_GATEWAY_STEPDOWN_DOWNCONVERSION_ZSTD="
    "gzip, and restart the gateway"
)
_ONLY_THAT = "; records that are there already need that, new ones may have another codec instead: "
_OTHER_CODEC = (
    "compression.type=gzip of the producers, which then restart, or of the topic, where nothing restarts: "
    "stepdown topics alter {topic} -c compression.type=gzip -b {servers}"
)
_LZ4_ADVICE = "nothing helps with records that are there already; have new ones in another codec: "


@dataclass(frozen=True, slots=True)
class LatestLosses:
    """When the latest request came that lost something, by the server's clock of requests, and the topics."""

    latest_s: float = 0.0
    topics: tuple[str, ...] = ()

    def latest_ms(self, at_s: float, at_ms: int) -> int:
        """The time of the latest loss since 1970, where the server's clock of requests says `at_s` at `at_ms`."""
        return at_ms - round((at_s - self.latest_s) * 1000)

    def join(self, other: "LatestLosses") -> "LatestLosses":
        """The details of both, with `MOST_TOPICS` topics at most."""
        topics = dict.fromkeys((*self.topics, *other.topics))
        return LatestLosses(max(self.latest_s, other.latest_s), tuple(islice(topics, MOST_TOPICS)))


def choose_topics(names: Iterable[str]) -> tuple[str, ...]:
    """The first topics of one request; names that no topic has are cut."""
    return tuple(dict.fromkeys(name[:MOST_TOPIC_LENGTH] for name in islice(names, MOST_TOPICS)))


def describe_loss(
    what: str,
    count: int | None = None,
    latest: str = "",
    topics: Sequence[str] = (),
    cluster: str = "",
    since_ms: int = 0,
) -> str:
    """What is lost, `count` times, and what to do where something can be done.

    `latest`: the time of the last one. `cluster`: the brokers of a gateway's cluster; "": a broker has counted it.
    `since_ms`: for how long the client went on after the last one.
    """
    name = what if count is None else f"{_NAMES.get(what, what)} ({count:,})"
    when = f", last at {latest}" if latest else ""
    if since_ms >= OVER_MS:
        return f"{name}{when}, and none in its requests of the {describe_duration(since_ms // 60_000 * 60_000)} since"
    of = f", of {', '.join(topics)}" if topics else ""
    advice = advise(what, topics, cluster)
    return f"{name}{when}{of}{f': {advice}' if advice else ''}"


def advise(what: str, topics: Sequence[str], cluster: str) -> str:
    """What to do about a loss; "" where there is nothing."""
    servers, topic = cluster or "HOST:PORT", topics[0] if len(topics) == 1 else "TOPIC"
    if what == TIMESTAMPS:
        command = f"stepdown topics alter {topic} -c message.timestamp.type=LogAppendTime -b {servers}"
        return f"give its topics message.timestamp.type=LogAppendTime: {command}"
    if what in (ZSTD, LZ4, LZ4_OF_KAFKA_NODE):
        own = _AT_GATEWAY if cluster else _AT_BROKER.format(servers=servers)
        first = f"{own}{_ONLY_THAT}" if what == ZSTD else _LZ4_ADVICE
        return first + _OTHER_CODEC.format(servers=servers, topic=topic)
    return "it reads their records whether they are committed or not" if what == "transactions" else ""
