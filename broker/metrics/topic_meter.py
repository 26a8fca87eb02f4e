"""Counters of a topic, and of a version of Fetch, looked up once for many requests."""

from dataclasses import dataclass

from ...network.metrics.counts import Counter
from ...network.metrics.instruments import CounterFamily


@dataclass(frozen=True, slots=True)
class TopicMeter:
    """The counters of one topic: partitions in Produce requests, bytes received and records appended; partitions in
    Fetch requests, and bytes of records sent to consumers."""

    requests: Counter
    bytes_in: Counter
    messages_in: Counter
    fetches: Counter
    bytes_out: Counter


class TopicMeters(dict[str, TopicMeter]):
    """The counters of existing topics by name, each made when it is first asked for."""

    def __init__(self, *families: CounterFamily) -> None:
        """`families`: in the order of the fields of `TopicMeter`."""
        super().__init__()
        self._families = families

    def __missing__(self, name: str) -> TopicMeter:
        meter = self[name] = TopicMeter(*(family.of(name) for family in self._families))
        return meter


@dataclass(frozen=True, slots=True)
class FetchMeter:
    """The counters of the Fetch requests of followers, or of consumers, in one version, and of the bytes they got."""

    requests: Counter
    bytes: Counter


class FetchMeters(dict[tuple[int, bool], FetchMeter]):
    """The counters by version and whether followers ask, each made when it is first asked for."""

    def __init__(self, requests: CounterFamily, fetch_bytes: CounterFamily) -> None:
        super().__init__()
        self._requests = requests
        self._bytes = fetch_bytes

    def __missing__(self, key: tuple[int, bool]) -> FetchMeter:
        version, is_follower = key
        requests = self._requests.of("FetchFollower" if is_follower else "FetchConsumer", str(version))
        meter = self[key] = FetchMeter(requests, self._bytes.of(str(version)))
        return meter
