"""Broker keys about logs: directories, rolls, flushes and retention, and the defaults of topic settings.

Sources: Kafka 3.9 ServerLogConfigs, LogConfig, ServerConfigs.
"""

from __future__ import annotations

from ..keys.key import AT_START, BOOLEAN, CLUSTER, INT, LIST, LONG, MAX_LONG, STRING, Key, UpdateMode, active, inert
from ..keys.value_checks import AtLeast, Between, BetweenOr, Check, EachOf, NotZero, OneOf, OnlyValue, ReleaseVersion
from ..keys.value_types import Value, ValueType
from .topics import COMPRESSION_TYPES, NO_TIERS

ROLL = ("log.roll.ms", "log.roll.hours")
JITTER = ("log.roll.jitter.ms", "log.roll.jitter.hours")
FLUSH = ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")
RETENTION = ("log.retention.ms", "log.retention.minutes", "log.retention.hours")


def _describe_default(topic_key: str) -> str:
    return f"Default of the topic setting {topic_key}."


def _topic_default(
    name: str,
    topic_key: str,
    kind: ValueType,
    default: Value | None,
    check: Check | None = None,
    *,
    change: UpdateMode = CLUSTER,
    synonyms: tuple[str, ...] = (),
) -> Key:
    return active(name, kind, default, check, change, _describe_default(topic_key), attribute="", synonyms=synonyms)


TOPIC_DEFAULTS = (
    _topic_default("message.max.bytes", "max.message.bytes", INT, 1_048_588, AtLeast(0)),
    _topic_default("log.segment.bytes", "segment.bytes", INT, 1_073_741_824, AtLeast(14)),
    _topic_default("log.roll.ms", "segment.ms", LONG, None, AtLeast(1), synonyms=ROLL),
    _topic_default("log.roll.hours", "segment.ms", INT, 168, AtLeast(1), change=AT_START, synonyms=ROLL),
    _topic_default("log.roll.jitter.ms", "segment.jitter.ms", LONG, None, AtLeast(0), synonyms=JITTER),
    _topic_default("log.roll.jitter.hours", "segment.jitter.ms", INT, 0, AtLeast(0), change=AT_START, synonyms=JITTER),
    _topic_default("log.index.size.max.bytes", "segment.index.bytes", INT, 10_485_760, AtLeast(4)),
    _topic_default("log.index.interval.bytes", "index.interval.bytes", INT, 4096, AtLeast(0)),
    _topic_default("log.preallocate", "preallocate", BOOLEAN, False),
    _topic_default("log.flush.interval.messages", "flush.messages", LONG, MAX_LONG, AtLeast(1)),
    _topic_default("log.flush.interval.ms", "flush.ms", LONG, None, synonyms=FLUSH),
    _topic_default("log.segment.delete.delay.ms", "file.delete.delay.ms", LONG, 60_000, AtLeast(0)),
    _topic_default("log.retention.ms", "retention.ms", LONG, None, NotZero(), synonyms=RETENTION),
    _topic_default("log.retention.minutes", "retention.ms", INT, None, NotZero(), change=AT_START, synonyms=RETENTION),
    _topic_default("log.retention.hours", "retention.ms", INT, 168, NotZero(), change=AT_START, synonyms=RETENTION),
    _topic_default("log.retention.bytes", "retention.bytes", LONG, -1),
    _topic_default("log.cleanup.policy", "cleanup.policy", LIST, ("delete",), EachOf(("compact", "delete"))),
    _topic_default("compression.type", "compression.type", STRING, "producer", OneOf(COMPRESSION_TYPES)),
    _topic_default("compression.gzip.level", "compression.gzip.level", INT, -1, BetweenOr(1, 9, -1)),
    _topic_default("compression.lz4.level", "compression.lz4.level", INT, 9, Between(1, 17)),
    _topic_default("compression.zstd.level", "compression.zstd.level", INT, 3, Between(-131_072, 22)),
    _topic_default("log.message.downconversion.enable", "message.downconversion.enable", BOOLEAN, True),
    _topic_default(
        "log.message.timestamp.type",
        "message.timestamp.type",
        STRING,
        "CreateTime",
        OneOf(("CreateTime", "LogAppendTime")),
    ),
    _topic_default(
        "log.message.timestamp.before.max.ms", "message.timestamp.before.max.ms", LONG, MAX_LONG, AtLeast(0)
    ),
    _topic_default("log.message.timestamp.after.max.ms", "message.timestamp.after.max.ms", LONG, MAX_LONG, AtLeast(0)),
    _topic_default(
        "log.message.timestamp.difference.max.ms", "message.timestamp.difference.max.ms", LONG, MAX_LONG, AtLeast(0)
    ),
    _topic_default("min.insync.replicas", "min.insync.replicas", INT, 1, AtLeast(1)),
    _topic_default("unclean.leader.election.enable", "unclean.leader.election.enable", BOOLEAN, False),
)

DIRECTORIES = (
    active(
        "log.dirs",
        STRING,
        None,
        None,
        AT_START,
        "Directories that hold partitions, separated by commas. A new partition goes to the one with the fewest. "
        "If absent, log.dir counts.",
        synonyms=("log.dirs", "log.dir"),
    ),
    active(
        "log.dir",
        STRING,
        "/tmp/kafka-logs",
        None,
        AT_START,
        "Directory that holds partitions when log.dirs is absent.",
        attribute="",
        synonyms=("log.dirs", "log.dir"),
    ),
    active(
        "num.recovery.threads.per.data.dir",
        INT,
        1,
        AtLeast(1),
        CLUSTER,
        "The broker chooses how many logs it recovers at once. A change must stay between half and double the present "
        "value.",
    ),
)

PERIODIC = (
    active(
        "log.retention.check.interval.ms",
        LONG,
        300_000,
        AtLeast(1),
        AT_START,
        "Time between two looks for segments that retention wants deleted.",
    ),
    active(
        "log.flush.scheduler.interval.ms",
        LONG,
        MAX_LONG,
        None,
        AT_START,
        "Time between two looks for logs whose flush.ms has passed; also the default of flush.ms.",
        synonyms=FLUSH,
    ),
    active(
        "log.flush.offset.checkpoint.interval.ms",
        INT,
        60_000,
        AtLeast(0),
        AT_START,
        "Time between two writes of the recovery points; what lies above them is checked after an unclean end.",
    ),
    active(
        "log.flush.start.offset.checkpoint.interval.ms",
        INT,
        60_000,
        AtLeast(0),
        AT_START,
        "Time between two writes of the log start offsets.",
    ),
    active(
        "replica.high.watermark.checkpoint.interval.ms",
        LONG,
        5000,
        None,
        AT_START,
        "Time between two writes of the high watermarks.",
    ),
    active(
        "log.initial.task.delay.ms",
        LONG,
        30_000,
        AtLeast(0),
        AT_START,
        "Time from the start of the broker to the first run of the periodic work on logs.",
        internal=True,
    ),
)

WITHOUT_EFFECT = (
    *inert(
        "Records are always written in format v2.",
        ("log.message.format.version", STRING, "3.0-IV1", ReleaseVersion(), AT_START),
    ),
    *inert(
        "There is no tiered storage; only -2 is accepted.",
        ("log.local.retention.ms", LONG, -2, OnlyValue(-2, NO_TIERS), CLUSTER),
        ("log.local.retention.bytes", LONG, -2, OnlyValue(-2, NO_TIERS), CLUSTER),
    ),
    *inert(
        "A log directory that fails takes its partitions offline at once.",
        ("log.dir.failure.timeout.ms", LONG, 30_000, AtLeast(1), AT_START),
    ),
)

KEYS = TOPIC_DEFAULTS + DIRECTORIES + PERIODIC + WITHOUT_EFFECT
