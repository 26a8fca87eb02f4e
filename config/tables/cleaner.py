"""Broker keys of the log cleaner, which compacts. Source: Kafka 3.9 CleanerConfig."""

from __future__ import annotations

from ..keys.key import AT_START, BOOLEAN, CLUSTER, DOUBLE, INT, LONG, MAX_LONG, active
from ..keys.value_checks import AtLeast, Between

LARGEST_DOUBLE = 1.7976931348623157e308

TOPIC_DEFAULTS = (
    active(
        "log.cleaner.delete.retention.ms",
        LONG,
        86_400_000,
        AtLeast(0),
        CLUSTER,
        "Default of the topic setting delete.retention.ms.",
        attribute="",
    ),
    active(
        "log.cleaner.min.compaction.lag.ms",
        LONG,
        0,
        AtLeast(0),
        CLUSTER,
        "Default of the topic setting min.compaction.lag.ms.",
        attribute="",
    ),
    active(
        "log.cleaner.max.compaction.lag.ms",
        LONG,
        MAX_LONG,
        AtLeast(1),
        CLUSTER,
        "Default of the topic setting max.compaction.lag.ms.",
        attribute="",
    ),
    active(
        "log.cleaner.min.cleanable.ratio",
        DOUBLE,
        0.5,
        Between(0, 1),
        CLUSTER,
        "Default of the topic setting min.cleanable.dirty.ratio.",
        attribute="",
    ),
)

CLEANER = (
    active(
        "log.cleaner.enable",
        BOOLEAN,
        True,
        None,
        AT_START,
        "Whether topics whose cleanup.policy has compact are compacted.",
    ),
    active("log.cleaner.threads", INT, 1, AtLeast(0), CLUSTER, "Logs that are compacted at the same time."),
    active(
        "log.cleaner.dedupe.buffer.size",
        LONG,
        134_217_728,
        None,
        CLUSTER,
        "Memory for the map from keys to offsets, over all cleaner threads, in bytes.",
        attribute="log_cleaner_dedupe_buffer_bytes",
    ),
    active(
        "log.cleaner.io.buffer.size",
        INT,
        524_288,
        AtLeast(0),
        CLUSTER,
        "Memory for reading and writing while compacting, over all cleaner threads, in bytes.",
        attribute="log_cleaner_io_buffer_bytes",
    ),
    active(
        "log.cleaner.io.buffer.load.factor",
        DOUBLE,
        0.9,
        None,
        CLUSTER,
        "Part of the map from keys to offsets that may be filled before a pass ends.",
    ),
    active(
        "log.cleaner.io.max.bytes.per.second",
        DOUBLE,
        LARGEST_DOUBLE,
        None,
        CLUSTER,
        "Bytes a second that the cleaner may read and write together.",
    ),
    active(
        "log.cleaner.backoff.ms",
        LONG,
        15_000,
        AtLeast(0),
        CLUSTER,
        "Time that the cleaner sleeps when there is nothing to compact.",
    ),
)

KEYS = TOPIC_DEFAULTS + CLEANER
