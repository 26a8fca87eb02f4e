"""The metrics of a broker, named after Kafka's beans in Prometheus' style (see docs/metrics.md)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...network.metrics.instruments import DURATION_BUCKETS, SIZE_BUCKETS, Instruments
from ...protocol.records.layout import CODEC_MASK, Codec
from .conversion_meter import ConversionMeter
from .topic_meter import FetchMeters, TopicMeters

if TYPE_CHECKING:
    from ..metadata.image import Topic

MOST_CLIENT_SOFTWARE = 500
MOST_WITH_QUOTA = 1_000


_CODEC_LABELS = tuple(Codec(n).name.lower() if n <= Codec.ZSTD else "other" for n in range(CODEC_MASK + 1))


def codec_label(attributes: int) -> str:
    """The codec in the attributes of a batch of any magic, as a label; bits that name none are "other"."""
    return _CODEC_LABELS[attributes & CODEC_MASK]


class Metrics:
    """One broker's instruments."""

    def __init__(self) -> None:
        kept = Instruments()
        self.instruments = kept

        self.requests = kept.counter("stepdown_requests", "Requests answered", "request", "version")
        self.deprecated_requests = kept.counter(
            "stepdown_deprecated_requests",
            "Requests in a version that Kafka 3.9 marks deprecated",
            *("request", "version", "client_software_name", "client_software_version"),
            limit=MOST_CLIENT_SOFTWARE,
        )
        self.request_errors = kept.counter(
            "stepdown_request_errors", "Error codes in responses, NONE included", "request", "error"
        )
        self.request_duration = kept.histogram(
            "stepdown_request_duration_seconds",
            "Time of a request, by phase",
            DURATION_BUCKETS,
            *("request", "phase", "version"),
        )
        self.request_size = kept.histogram(
            "stepdown_request_size_bytes", "Request bodies, header excluded", SIZE_BUCKETS, "request"
        )
        self.closed_connections = kept.counter(
            "stepdown_connections_closed", "Connections that were closed, by reason", "reason"
        )
        self.failed_authentications = kept.counter(
            "stepdown_failed_authentications",
            "Connections whose TLS or SASL authentication failed, by listener and SASL mechanism; wrong passwords of "
            "the page are those of HTTP by BASIC",
            *("listener", "mechanism"),
        )

        self.throttle_seconds = kept.counter(
            "stepdown_throttle_seconds", "Time that clients were made to wait by quotas, by API", "request"
        )
        self.quota_bytes = kept.counter(
            "stepdown_quota_bytes",
            "Bytes that counted against a quota, by its type and who shares it",
            *("type", "user", "client_id"),
            limit=MOST_WITH_QUOTA,
        )
        self.quota_throttle_seconds = kept.counter(
            "stepdown_quota_throttle_seconds",
            "Time that a quota made those wait who share it",
            *("type", "user", "client_id"),
            limit=MOST_WITH_QUOTA,
        )
        self.round_faults = kept.counter(
            "stepdown_round_faults", "Items that periodic work failed to handle and left out of its round", "work"
        )
        self.bytes_in = kept.counter("stepdown_bytes_in", "Record bytes as received, successful appends", "topic")
        self.messages_in = kept.counter("stepdown_messages_in", "Records appended", "topic")
        self.bytes_out = kept.counter("stepdown_bytes_out", "Record bytes in fetch responses to consumers", "topic")
        self.fetch_bytes = kept.counter(
            "stepdown_fetch_bytes", "Record bytes in fetch responses, by version of Fetch", "version"
        )
        self.fetch_meters = FetchMeters(self.requests, self.fetch_bytes)
        self.bytes_rejected = kept.counter(
            "stepdown_bytes_rejected", "Bytes of record sets refused as too large", "topic"
        )
        self.produce_partition_requests = kept.counter(
            "stepdown_produce_partition_requests", "Partitions in produce requests", "topic"
        )
        self.fetch_partition_requests = kept.counter(
            "stepdown_fetch_partition_requests", "Partitions in fetch requests", "topic"
        )
        self.topic_meters = TopicMeters(
            self.produce_partition_requests,
            self.bytes_in,
            self.messages_in,
            self.fetch_partition_requests,
            self.bytes_out,
        )
        self.failed_produce_requests = kept.counter(
            "stepdown_failed_produce_requests", "Partitions of produce requests that failed unexpectedly", "topic"
        )
        self.failed_fetch_requests = kept.counter(
            "stepdown_failed_fetch_requests", "Partitions of fetch requests that failed unexpectedly", "topic"
        )
        self.invalid_records = kept.counter("stepdown_invalid_records", "Produced records refused", "reason")

        self.fetch_conversions = kept.counter(
            "stepdown_fetch_message_conversions", "Records converted for a fetch", "topic"
        )
        self.produce_conversions = kept.counter(
            "stepdown_produce_message_conversions", "Records converted for a produce request", "topic"
        )
        self.up_conversions = kept.counter(
            "stepdown_upconversion_records",
            "Records of produce requests that were up-converted, by format, codec and new codec",
            *("from_magic", "codec", "to_codec"),
        )
        self.conversion_seconds = kept.histogram(
            "stepdown_message_conversion_seconds", "Conversion time of a request", DURATION_BUCKETS, "request"
        )
        self.temporary_bytes = kept.histogram(
            "stepdown_request_temporary_memory_bytes",
            "Bytes that passed through buffers of compression and conversion",
            SIZE_BUCKETS,
            "request",
        )
        self.produce_meter, self.fetch_meter = (
            ConversionMeter(self.conversion_seconds.of(name), self.temporary_bytes.of(name))
            for name in ("Produce", "Fetch")
        )
        self.conversion_chunks = kept.plain_counter("stepdown_downconversion_chunks", "Chunks converted down")
        self.padding_bytes = kept.plain_counter(
            "stepdown_downconversion_padding_bytes", "Bytes of overflow entries sent"
        )
        self.truncated_slices = kept.plain_counter(
            "stepdown_downconversion_truncated_responses", "Converted slices cut at their promised size"
        )
        self.conversions_rejected = kept.counter("stepdown_downconversion_rejected", "Conversions refused", "reason")
        self.conversion_bytes = kept.counter(
            "stepdown_downconversion_bytes",
            "Promised bytes of converted slices, by format and codec of their first batch",
            *("from_magic", "to_magic", "codec"),
        )
        self.conversion_wait = kept.histogram(
            "stepdown_downconversion_wait_seconds", "Time that a chunk waited for conversion memory", DURATION_BUCKETS
        )
        self.request_memory_wait = kept.plain_counter(
            "stepdown_request_memory_pool_depleted_seconds", "Time that requests waited for request memory"
        )
        self.loop_delay = kept.histogram(
            "stepdown_event_loop_delay_seconds", "Delay of the event loop's timers", DURATION_BUCKETS
        )
        self.loop_held = kept.counter(
            "stepdown_event_loop_held", "Times that a request held the event loop for more than 100 ms", "request"
        )
        self.sendfile_bytes = kept.plain_counter("stepdown_sendfile_bytes", "Record bytes sent by sendfile")
        self.copied_bytes = kept.plain_counter("stepdown_copied_bytes", "Record bytes sent from memory, converted")

        self.fetch_expirations = kept.counter(
            "stepdown_fetch_expirations", "Fetches that waited for their maximum time", "fetcher"
        )
        self.session_evictions = kept.plain_counter("stepdown_fetch_session_evictions", "Fetch sessions evicted")
        self.transactions = kept.counter("stepdown_transactions", "Completed transactions, by result", "result")
        for result in ("committed", "aborted"):
            self.transactions.of(result)
        self.transactions_timed_out = kept.plain_counter(
            "stepdown_transactions_timed_out", "Transactions aborted after their timeout"
        )
        self.transaction_append_errors = kept.counter(
            "stepdown_transaction_append_errors", "Appends of the transaction coordinator that failed", "record"
        )
        for record in ("state", "marker"):
            self.transaction_append_errors.of(record)
        self.cleaner_runs = kept.plain_counter("stepdown_cleaner_runs", "Logs cleaned by compaction")
        self.cleaner_read_bytes = kept.plain_counter(
            "stepdown_cleaner_read_bytes", "Bytes of the segments that were cleaned"
        )
        self.cleaner_written_bytes = kept.plain_counter(
            "stepdown_cleaner_written_bytes", "Bytes of the segments that cleaning wrote"
        )
        self.cleaner_seconds = kept.plain_counter("stepdown_cleaner_seconds", "Time that logs were being cleaned")
        self.flush_duration = kept.histogram(
            "stepdown_log_flush_duration_seconds", "Time to sync a log", DURATION_BUCKETS
        )

    def forget_topics(self, topics: "Sequence[Topic]") -> None:
        """Drops the counters of deleted topics, so that names cannot pile up."""
        names = [topic.name for topic in topics]
        for name in names:
            self.topic_meters.pop(name, None)
        self.instruments.forget_topics(names)
