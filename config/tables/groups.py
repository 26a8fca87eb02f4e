"""Broker keys of the group coordinator. Sources: Kafka 3.9 GroupCoordinatorConfig, ShareGroupConfig."""

from __future__ import annotations

from ..keys.key import AT_START, BOOLEAN, INT, LIST, LONG, MAX_INT, SHORT, STRING, active, inert
from ..keys.value_checks import AtLeast, Between, EachOf, OneOf

OFFSETS = (
    active(
        "offset.metadata.max.bytes",
        INT,
        4096,
        None,
        AT_START,
        "Largest metadata that a client may store beside a committed offset.",
    ),
    active(
        "offsets.commit.timeout.ms",
        INT,
        5000,
        AtLeast(1),
        AT_START,
        "Time that a commit may wait for the replicas of its partition.",
    ),
    active(
        "offsets.retention.minutes",
        INT,
        10_080,
        AtLeast(1),
        AT_START,
        "Time for which committed offsets are kept after their group became empty.",
    ),
    active(
        "offsets.retention.check.interval.ms",
        LONG,
        600_000,
        AtLeast(1),
        AT_START,
        "Time between two looks for committed offsets that have expired.",
    ),
    active(
        "offsets.topic.num.partitions",
        INT,
        50,
        AtLeast(1),
        AT_START,
        "Partitions of __consumer_offsets; not to be changed once the topic exists.",
    ),
    active(
        "offsets.topic.replication.factor",
        SHORT,
        3,
        AtLeast(1),
        AT_START,
        "Replicas of __consumer_offsets; capped at the number of brokers.",
    ),
    active(
        "offsets.topic.segment.bytes",
        INT,
        104_857_600,
        AtLeast(1),
        AT_START,
        "segment.bytes of __consumer_offsets.",
    ),
    active(
        "offsets.topic.compression.codec",
        INT,
        0,
        Between(0, 4),
        AT_START,
        "Codec of the batches in __consumer_offsets: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.",
    ),
    active(
        "offsets.load.buffer.size",
        INT,
        5_242_880,
        AtLeast(1),
        AT_START,
        "Bytes that are read at a time when __consumer_offsets is loaded.",
        attribute="offsets_load_buffer_bytes",
    ),
)

CLASSIC = (
    active(
        "group.min.session.timeout.ms", INT, 6000, None, AT_START, "Smallest session timeout that a member may ask for."
    ),
    active(
        "group.max.session.timeout.ms",
        INT,
        1_800_000,
        None,
        AT_START,
        "Largest session timeout that a member may ask for.",
    ),
    active(
        "group.initial.rebalance.delay.ms",
        INT,
        3000,
        None,
        AT_START,
        "Time that an empty group waits for further members before its first rebalance.",
    ),
    active("group.max.size", INT, MAX_INT, AtLeast(1), AT_START, "Members that a group may have."),
    active(
        "group.coordinator.rebalance.protocols",
        LIST,
        ("classic",),
        EachOf(("consumer", "classic", "share", "unknown")),
        AT_START,
        "Rebalance protocols that are offered: classic, and consumer (KIP-848).",
    ),
)

CONSUMER = (
    active(
        "group.consumer.session.timeout.ms",
        INT,
        45_000,
        AtLeast(1),
        AT_START,
        "Time without a heartbeat after which a member of a consumer group is removed (KIP-848).",
    ),
    active(
        "group.consumer.min.session.timeout.ms",
        INT,
        45_000,
        AtLeast(1),
        AT_START,
        "The least that group.consumer.session.timeout.ms may be.",
        attribute="",
    ),
    active(
        "group.consumer.max.session.timeout.ms",
        INT,
        60_000,
        AtLeast(1),
        AT_START,
        "The most that group.consumer.session.timeout.ms may be.",
        attribute="",
    ),
    active(
        "group.consumer.heartbeat.interval.ms",
        INT,
        5000,
        AtLeast(1),
        AT_START,
        "Time between heartbeats that members of consumer groups have to keep.",
    ),
    active(
        "group.consumer.min.heartbeat.interval.ms",
        INT,
        5000,
        AtLeast(1),
        AT_START,
        "The least that group.consumer.heartbeat.interval.ms may be.",
        attribute="",
    ),
    active(
        "group.consumer.max.heartbeat.interval.ms",
        INT,
        15_000,
        AtLeast(1),
        AT_START,
        "The most that group.consumer.heartbeat.interval.ms may be.",
        attribute="",
    ),
    active("group.consumer.max.size", INT, MAX_INT, AtLeast(1), AT_START, "Members that a consumer group may have."),
    active(
        "group.consumer.assignors",
        LIST,
        (
            "org.apache.kafka.coordinator.group.assignor.UniformAssignor",
            "org.apache.kafka.coordinator.group.assignor.RangeAssignor",
        ),
        None,
        AT_START,
        "Assignors that the broker offers, by Kafka's class names; the first is the default.",
    ),
    active(
        "group.consumer.migration.policy",
        STRING,
        "disabled",
        OneOf(("disabled", "downgrade", "upgrade", "bidirectional"), fold=True),
        AT_START,
        "Whether a group may change between the classic and the consumer protocol while it has members.",
        internal=True,
    ),
)

WITHOUT_EFFECT = (
    *inert(
        "One event loop coordinates all groups.",
        ("group.coordinator.threads", INT, 1, AtLeast(1), AT_START),
        ("group.coordinator.append.linger.ms", INT, 10, AtLeast(0), AT_START),
        ("offsets.commit.required.acks", SHORT, -1, None, AT_START),
    ),
    *inert(
        "One event loop coordinates all groups.",
        ("group.coordinator.new.enable", BOOLEAN, False, None, AT_START),
        internal=True,
    ),
    *inert(
        "Share groups are not offered.",
        ("group.share.delivery.count.limit", INT, 5, Between(2, 10), AT_START),
        ("group.share.heartbeat.interval.ms", INT, 5000, AtLeast(1), AT_START),
        ("group.share.max.groups", SHORT, 10, Between(1, 100), AT_START),
        ("group.share.max.heartbeat.interval.ms", INT, 15_000, AtLeast(1), AT_START),
        ("group.share.max.record.lock.duration.ms", INT, 60_000, Between(30_000, 3_600_000), AT_START),
        ("group.share.max.session.timeout.ms", INT, 60_000, AtLeast(1), AT_START),
        ("group.share.max.size", SHORT, 200, Between(10, 1000), AT_START),
        ("group.share.min.heartbeat.interval.ms", INT, 5000, AtLeast(1), AT_START),
        ("group.share.min.record.lock.duration.ms", INT, 15_000, Between(1000, 30_000), AT_START),
        ("group.share.min.session.timeout.ms", INT, 45_000, AtLeast(1), AT_START),
        ("group.share.partition.max.record.locks", INT, 200, Between(100, 10_000), AT_START),
        ("group.share.record.lock.duration.ms", INT, 30_000, Between(1000, 60_000), AT_START),
        ("group.share.session.timeout.ms", INT, 45_000, AtLeast(1), AT_START),
    ),
    *inert(
        "Share groups are not offered.",
        ("group.share.enable", BOOLEAN, False, None, AT_START),
        internal=True,
    ),
)

KEYS = OFFSETS + CLASSIC + CONSUMER + WITHOUT_EFFECT
