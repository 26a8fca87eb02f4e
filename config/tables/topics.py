"""Topic settings: the keys that one topic may set, and the broker keys that give their defaults.

Sources: Kafka 3.9 LogConfig, TopicConfig and ServerTopicConfigSynonyms. Each may change while the broker runs, and then
applies to open logs at once.
"""

from __future__ import annotations

from ..keys.key import BOOLEAN, CLUSTER, DOUBLE, INT, LIST, LONG, MAX_LONG, STRING, Key, Status, active
from ..keys.value_checks import AtLeast, Between, BetweenOr, Check, EachOf, Matching, OneOf, OnlyValue, ReleaseVersion
from ..keys.value_types import Value, ValueType

DAY_MS = 86_400_000
WEEK_MS = 7 * DAY_MS
NO_TIERS = "stepdown keeps all segments in the log directories"
COMPRESSION_TYPES = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
_THROTTLED = Matching(r"\*|([0-9]+:[0-9]+)?(,([0-9]+:[0-9]+)?)*", "0:1,1:1 (partition and broker), or *")


def _topic(
    name: str,
    kind: ValueType,
    default: Value | None,
    check: Check | None,
    synonyms: tuple[str, ...],
    doc: str,
    status: Status = Status.ACTED_ON,
) -> Key:
    return Key(name, kind, default, check, CLUSTER, doc, name.replace(".", "_"), status, False, synonyms)


def _replicas(name: str) -> Key:
    doc = "Replication is not throttled here."
    return _topic(name, LIST, (), _THROTTLED, (), doc, Status.ACCEPTED)


SIZES = (
    _topic(
        "max.message.bytes",
        INT,
        1_048_588,
        AtLeast(0),
        ("message.max.bytes",),
        "Largest record batch that is taken, in bytes as it would be stored, its 12 bytes of offset and length "
        "included. A larger one is answered MESSAGE_TOO_LARGE and nothing of the request's partition is written.",
    ),
    _topic(
        "segment.bytes",
        INT,
        1_073_741_824,
        AtLeast(14),
        ("log.segment.bytes",),
        "Size at which a new segment file is begun. A produce request larger than this is refused.",
    ),
    _topic(
        "segment.index.bytes",
        INT,
        10_485_760,
        AtLeast(4),
        ("log.index.size.max.bytes",),
        "Largest size of one offset or time index. An index that is full begins a new segment.",
    ),
    _topic(
        "index.interval.bytes",
        INT,
        4096,
        AtLeast(0),
        ("log.index.interval.bytes",),
        "Bytes of records between two index entries. Smaller finds offsets faster and makes larger indexes.",
    ),
    _topic(
        "preallocate",
        BOOLEAN,
        False,
        None,
        ("log.preallocate",),
        "Whether a new segment file takes its full size at once, and is cut when it is rolled.",
    ),
)

TIMES = (
    _topic(
        "segment.ms",
        LONG,
        WEEK_MS,
        AtLeast(1),
        ("log.roll.ms", "log.roll.hours"),
        "Age, by the timestamps of records, at which a new segment is begun even if the current one is not full.",
    ),
    _topic(
        "segment.jitter.ms",
        LONG,
        0,
        AtLeast(0),
        ("log.roll.jitter.ms", "log.roll.jitter.hours"),
        "Largest random time taken off segment.ms, so that many partitions do not roll together.",
    ),
    _topic(
        "flush.messages",
        LONG,
        MAX_LONG,
        AtLeast(1),
        ("log.flush.interval.messages",),
        "Number of records after which a partition is synced to disk. The default leaves it to the operating system.",
    ),
    _topic(
        "flush.ms",
        LONG,
        MAX_LONG,
        AtLeast(0),
        ("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
        "Longest time that written records may stay unsynced; looked at every log.flush.scheduler.interval.ms.",
    ),
    _topic(
        "file.delete.delay.ms",
        LONG,
        60_000,
        AtLeast(0),
        ("log.segment.delete.delay.ms",),
        "Time between the moment a segment leaves the log and the removal of its files.",
    ),
    _topic(
        "retention.ms",
        LONG,
        WEEK_MS,
        AtLeast(-1),
        ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
        "Age after which whole segments are deleted when cleanup.policy has delete. -1 keeps them for ever.",
    ),
    _topic(
        "retention.bytes",
        LONG,
        -1,
        None,
        ("log.retention.bytes",),
        "Size of one partition above which its oldest segments are deleted when cleanup.policy has delete. "
        "A negative value sets no limit.",
    ),
)

CLEANING = (
    _topic(
        "cleanup.policy",
        LIST,
        ("delete",),
        EachOf(("compact", "delete")),
        ("log.cleanup.policy",),
        "What happens to old segments: delete removes them by age and size, compact keeps the last record of each key; "
        "both may be listed.",
    ),
    _topic(
        "delete.retention.ms",
        LONG,
        DAY_MS,
        AtLeast(0),
        ("log.cleaner.delete.retention.ms",),
        "Time for which a compacted topic keeps tombstones and transaction markers after they were cleaned.",
    ),
    _topic(
        "min.compaction.lag.ms",
        LONG,
        0,
        AtLeast(0),
        ("log.cleaner.min.compaction.lag.ms",),
        "Time for which a record stays uncompacted. Must not exceed max.compaction.lag.ms.",
    ),
    _topic(
        "max.compaction.lag.ms",
        LONG,
        MAX_LONG,
        AtLeast(1),
        ("log.cleaner.max.compaction.lag.ms",),
        "Time after which a record has to become eligible for compaction; a compacted topic rolls its segments at "
        "least this often.",
    ),
    _topic(
        "min.cleanable.dirty.ratio",
        DOUBLE,
        0.5,
        Between(0, 1),
        ("log.cleaner.min.cleanable.ratio",),
        "Part of a log that has to be uncompacted before the cleaner takes it up.",
    ),
)

FORMAT = (
    _topic(
        "compression.type",
        STRING,
        "producer",
        OneOf(COMPRESSION_TYPES),
        ("compression.type",),
        "Codec of stored batches: producer keeps what was sent, any other value recompresses. zstd also refuses "
        "fetches older than version 10; those older than 4 not if stepdown.downconversion.zstd lets them read it.",
    ),
    _topic(
        "compression.gzip.level",
        INT,
        -1,
        BetweenOr(1, 9, -1),
        ("compression.gzip.level",),
        "Level used when the broker compresses with gzip; -1 is the codec's own default.",
    ),
    _topic(
        "compression.lz4.level",
        INT,
        9,
        Between(1, 17),
        ("compression.lz4.level",),
        "Level used when the broker compresses with lz4.",
    ),
    _topic(
        "compression.zstd.level",
        INT,
        3,
        Between(-131_072, 22),
        ("compression.zstd.level",),
        "Level used when the broker compresses with zstd.",
    ),
    _topic(
        "message.downconversion.enable",
        BOOLEAN,
        True,
        None,
        ("log.message.downconversion.enable",),
        "Whether consumers whose fetch version predates the stored format are served by converting records down "
        "(KIP-283). If false they are answered UNSUPPORTED_VERSION; fetches that need no conversion, and followers, "
        "are not concerned.",
    ),
    _topic(
        "message.format.version",
        STRING,
        "3.0-IV1",
        ReleaseVersion(),
        ("log.message.format.version",),
        "Records are always written in format v2.",
        Status.ACCEPTED,
    ),
    _topic(
        "message.timestamp.type",
        STRING,
        "CreateTime",
        OneOf(("CreateTime", "LogAppendTime")),
        ("log.message.timestamp.type",),
        "Whether records carry the time their producer gave them or the time of their append.",
    ),
    _topic(
        "message.timestamp.before.max.ms",
        LONG,
        MAX_LONG,
        AtLeast(0),
        ("log.message.timestamp.before.max.ms",),
        "How far a record's create time may lie before the broker's clock; an older one is answered INVALID_TIMESTAMP. "
        "Without effect for LogAppendTime.",
    ),
    _topic(
        "message.timestamp.after.max.ms",
        LONG,
        MAX_LONG,
        AtLeast(0),
        ("log.message.timestamp.after.max.ms",),
        "How far a record's create time may lie after the broker's clock; a later one is answered INVALID_TIMESTAMP. "
        "Without effect for LogAppendTime.",
    ),
    _topic(
        "message.timestamp.difference.max.ms",
        LONG,
        MAX_LONG,
        AtLeast(0),
        ("log.message.timestamp.difference.max.ms",),
        "Deprecated. Stands in for message.timestamp.before.max.ms and message.timestamp.after.max.ms where these are "
        "not set.",
    ),
)

REPLICAS = (
    _topic(
        "min.insync.replicas",
        INT,
        1,
        AtLeast(1),
        ("min.insync.replicas",),
        "Number of in-sync replicas that a produce request with acks=-1 needs; capped at the number of replicas.",
    ),
    _topic(
        "unclean.leader.election.enable",
        BOOLEAN,
        False,
        None,
        ("unclean.leader.election.enable",),
        "Whether a replica that is not in sync may lead when no other is left. Without effect with one replica.",
    ),
    _replicas("leader.replication.throttled.replicas"),
    _replicas("follower.replication.throttled.replicas"),
)

TIERS = (
    _topic(
        "remote.storage.enable",
        BOOLEAN,
        False,
        OnlyValue(False, NO_TIERS),
        (),
        "There is no tiered storage; only false is accepted.",
        Status.ACCEPTED,
    ),
    _topic(
        "remote.log.copy.disable",
        BOOLEAN,
        False,
        OnlyValue(False, NO_TIERS),
        (),
        "There is no tiered storage; only false is accepted.",
        Status.ACCEPTED,
    ),
    _topic(
        "remote.log.delete.on.disable",
        BOOLEAN,
        False,
        OnlyValue(False, NO_TIERS),
        (),
        "There is no tiered storage; only false is accepted.",
        Status.ACCEPTED,
    ),
    _topic(
        "local.retention.ms",
        LONG,
        -2,
        OnlyValue(-2, NO_TIERS),
        ("log.local.retention.ms",),
        "There is no tiered storage; only -2, which means retention.ms, is accepted.",
        Status.ACCEPTED,
    ),
    _topic(
        "local.retention.bytes",
        LONG,
        -2,
        OnlyValue(-2, NO_TIERS),
        ("log.local.retention.bytes",),
        "There is no tiered storage; only -2, which means retention.bytes, is accepted.",
        Status.ACCEPTED,
    ),
)

OWN = (
    active(
        "stepdown.settings.unknown",
        BOOLEAN,
        False,
        None,
        CLUSTER,
        "The topic was taken over from its folders and its settings are not known: it is kept whole until "
        "`stepdown topics adopt`, or a change of its settings, says what they are. Kafka ignores this setting.",
        internal=True,
    ),
)

KEYS = SIZES + TIMES + CLEANING + FORMAT + REPLICAS + TIERS + OWN
