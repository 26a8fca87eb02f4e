"""What is lost for clients whose requests have no field for it, and what operators can do about it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

TIMESTAMPS = "timestamps"
ZSTD = "zstd"
"""Counts partitions of fetches that were refused, since the client cannot read zstd."""
LZ4 = "lz4"
"""Counts partitions of fetches with LZ4, whose compressed bytes the client takes for the value of a record."""
MOST_TOPICS = 10
"""At most this many topics are kept for each kind of loss."""
MOST_TOPIC_LENGTH = 249

_NAMES = {ZSTD: "zstd, in fetches of a partition", LZ4: "records in LZ4, in fetches of a partition"}
"""What is counted, where the kind alone does not say so."""
_CODECS = frozenset({ZSTD, LZ4})
_AT_BROKER = (
    "set stepdown.downconversion.zstd=gzip, where nothing restarts: stepdown configs alter broker -c "
    "stepdown.downconversion.zstd=gzip -b {servers}"
)
_AT_GATEWAY = (
    "set stepdown.downconversion.zstd: gzip in the gateway's file, or STEPDOWN_GATEWAY_STEPDOWN_DOWNCONVERSION_ZSTD="
    "gzip, and restart the gateway"
)
_OTHER_CODEC = (
    "have new records in another codec: compression.type=gzip of the producers, which then restart, or of the topic, "
    "where nothing restarts: kafka-configs.sh --bootstrap-server {servers} --alter --entity-type topics --entity-name "
    "{topic} --add-config compression.type=gzip"
)


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
    what: str, count: int | None = None, latest: str = "", topics: Sequence[str] = (), cluster: str = ""
) -> str:
    """What is lost, `count` times, and what to do where something can be done.

    `latest`: the time of the last one. `cluster`: the brokers of a gateway's cluster; "": a broker has counted it.
    """
    name = what if count is None else f"{_NAMES.get(what, what)} ({count:,})"
    when = f", last at {latest}" if latest else ""
    of = f", of {', '.join(topics)}" if topics else ""
    advice = _advise(what, topics, cluster)
    return f"{name}{when}{of}{f': {advice}' if advice else ''}"


def _advise(what: str, topics: Sequence[str], cluster: str) -> str:
    servers, topic = cluster or "HOST:PORT", topics[0] if len(topics) == 1 else "TOPIC"
    if what == TIMESTAMPS:
        command = f"stepdown topics alter {topic} -c message.timestamp.type=LogAppendTime -b {servers}"
        return f"give its topics message.timestamp.type=LogAppendTime: {command}"
    if what in _CODECS:
        other = _OTHER_CODEC.format(servers=servers, topic=topic)
        own = _AT_GATEWAY if cluster else _AT_BROKER.format(servers=servers)
        return f"{own}; or {other}" if what == ZSTD else other
    return "it reads their records whether they are committed or not" if what == "transactions" else ""
