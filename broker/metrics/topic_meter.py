"""Counters of a topic, and of a version of Fetch, looked up once for many requests."""

from dataclasses import dataclass

from ...network.metrics.counts import Counter


@dataclass(frozen=True, slots=True)
class TopicMeter:
    """The counters of one topic: partitions in Produce requests, bytes received and records appended; partitions in
    Fetch requests, and bytes of records sent to consumers."""

    requests: Counter
    bytes_in: Counter
    messages_in: Counter
    fetches: Counter
    bytes_out: Counter


@dataclass(frozen=True, slots=True)
class FetchMeter:
    """The counters of the Fetch requests of followers, or of consumers, in one version, and of the bytes they got."""

    requests: Counter
    bytes: Counter
