"""Metrics of what is produced to one topic; the labelled counters are looked up once per topic, not per partition."""

from dataclasses import dataclass

from ...network.metrics.counts import Counter


@dataclass(frozen=True, slots=True)
class TopicMeter:
    """The counters of one topic in Produce requests: partitions asked for, bytes received and records appended."""

    requests: Counter
    bytes_in: Counter
    messages_in: Counter

    def count_append(self, received_bytes: int, records: int) -> None:
        """Records of one partition went into its log."""
        self.bytes_in.value += received_bytes
        self.messages_in.value += records
