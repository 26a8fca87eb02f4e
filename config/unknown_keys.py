"""Judges keys that no table has: those of plugins, of older brokers, of topics, and misspelt ones.

Kafka only warns of unknown keys. stepdown does the same if a file or a variable has a key that is not similar to a
known one: it belongs to a plugin or a vendor. It refuses a key that is similar to a known one, and suggests that: a
misspelt retention could lose records. Keys that Kafka passes to plugins or reads for one listener are accepted by their
prefix, and so are keys of other releases.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from .errors import Problem
from .keys.key import Key
from .similar_names import nearest
from .sources.origin import NOWHERE, Origin
from .tables.all_keys import BROKER_KEYS, TOPIC_KEYS

FOREIGN_PREFIXES = (
    "listener.name.",
    "config.providers",
    "confluent.",
    "kafka.metrics.",
    "metric.",
    "metrics.",
    "metrics.context.",
    "rlmm.config.",
    "rsm.config.",
    "remote.log.",
    "sasl.",
    "ssl.",
    "client.quota.callback.",
)
"""Prefixes of keys that Kafka passes to plugins, or reads for one listener."""

REMOVED: Mapping[str, str] = {
    "host.name": "listeners",
    "port": "listeners",
    "advertised.host.name": "advertised.listeners",
    "advertised.port": "advertised.listeners",
    "quota.producer.default": "",
    "quota.consumer.default": "",
    "zookeeper.sync.time.ms": "",
    "replica.fetch.backoff.max.ms": "",
    "log.cleanup.interval.mins": "log.retention.check.interval.ms",
    "log.file.size": "log.segment.bytes",
    "num.replica.alter.log.dirs": "",
    "inter.broker.start.timeout.ms": "",
    "log.retention.bytes.per.topic": "retention.bytes of the topics",
    "log.retention.hours.per.topic": "retention.ms of the topics",
    "log.roll.hours.per.topic": "segment.ms of the topics",
    "log.segment.bytes.per.topic": "segment.bytes of the topics",
}
"""Keys of brokers before Kafka 3.0, with the key that replaced each ("" for none)."""

OF_KAFKA_4 = """
    ArrayBuffer(add.partitions.to.txn.retry.backoff.max.ms
    add.partitions.to.txn.retry.backoff.ms
    controller.performance.always.log.threshold.ms
    controller.performance.sample.period.ms
    controller.quorum.auto.join.enable
    controller.quorum.fetch.max.bytes
    controller.quorum.fetch.snapshot.max.bytes
    cordoned.log.dirs
    errors.deadletterqueue.auto.create.topics.enable
    errors.deadletterqueue.topic.name.prefix
    follower.fetch.last.tiered.offset.enable
    group.consumer.assignment.interval.ms
    group.consumer.assignor.offload.enable
    group.consumer.max.assignment.interval.ms
    group.consumer.min.assignment.interval.ms
    group.consumer.regex.refresh.interval.ms
    group.coordinator.background.threads
    group.coordinator.cached.buffer.max.bytes
    group.share.assignment.interval.ms
    group.share.assignor.offload.enable
    group.share.assignors
    group.share.dlq.manager.class.name
    group.share.initialize.retry.interval.ms
    group.share.max.assignment.interval.ms
    group.share.max.delivery.count.limit
    group.share.max.partition.max.record.locks
    group.share.max.share.sessions
    group.share.min.assignment.interval.ms
    group.share.min.delivery.count.limit
    group.share.min.partition.max.record.locks
    group.share.persister.class.name
    group.streams.acceptable.recovery.lag
    group.streams.assignment.interval.ms
    group.streams.assignor.offload.enable
    group.streams.assignors
    group.streams.heartbeat.interval.ms
    group.streams.initial.rebalance.delay.ms
    group.streams.max.assignment.interval.ms
    group.streams.max.heartbeat.interval.ms
    group.streams.max.session.timeout.ms
    group.streams.max.size
    group.streams.max.standby.replicas
    group.streams.max.warmup.replicas
    group.streams.min.assignment.interval.ms
    group.streams.min.heartbeat.interval.ms
    group.streams.min.session.timeout.ms
    group.streams.min.task.offset.interval.ms
    group.streams.num.standby.replicas
    group.streams.num.warmup.replicas
    group.streams.rack.aware.assignment.tags
    group.streams.session.timeout.ms
    group.streams.task.offset.interval.ms
    group.streams.topology.description.plugin.class
    internal.metadata.delete.delay.millis
    internal.metadata.log.segment.bytes
    internal.metadata.max.batch.size.in.bytes
    internal.metadata.max.fetch.size.in.bytes
    log.remote.copy.lag.bytes
    log.remote.copy.lag.ms
    max.decompressed.message.bytes
    remote.list.offsets.request.timeout.ms
    share.coordinator.append.linger.ms
    share.coordinator.cached.buffer.max.bytes
    share.coordinator.cold.partition.snapshot.interval.ms
    share.coordinator.load.buffer.size
    share.coordinator.snapshot.update.records.per.snapshot
    share.coordinator.state.topic.compression.codec
    share.coordinator.state.topic.min.isr
    share.coordinator.state.topic.num.partitions
    share.coordinator.state.topic.prune.interval.ms
    share.coordinator.state.topic.replication.factor
    share.coordinator.state.topic.segment.bytes
    share.coordinator.threads
    share.coordinator.write.timeout.ms
    share.fetch.max.fetch.records
    share.fetch.purgatory.purge.interval.requests
    transaction.two.phase.commit.enable
    unstable.feature.versions.enable)
"""
"""Keys of brokers of Kafka 4.0 to 4.4 that 3.9 does not have, from KafkaConfig in their jars."""

OF_OTHER_RELEASES: Mapping[str, str] = {
    **dict.fromkeys(OF_KAFKA_4.split(), "4"),
    "controller.message.queue.size": "0.8",
    "kafka.csv.metrics.dir": "0.8",
    "kafka.csv.metrics.reporter.enabled": "0.8",
    "log.flush.interval.ms.per.topic": "0.8",
    "replica.lag.max.messages": "0.8",
}
"""Keys of other releases of Kafka, with the release that has each."""

UNITS = ("ms", "bytes")
"""The ends of names that tell what a number counts."""

OF_IMAGES: Mapping[str, str] = {"create.topics": "stepdown.topics (STEPDOWN_TOPICS=orders:3)"}
"""Keys that images of Kafka read from variables (KAFKA_CREATE_TOPICS), with what replaces each in stepdown."""


def is_foreign(name: str) -> bool:
    """Whether Kafka would pass a key of this name to a plugin, or read it for one listener."""
    return name.startswith(FOREIGN_PREFIXES)


def _nearest_key(name: str, known: Collection[str]) -> str | None:
    """The key that is meant by a misspelt name, or by one without its unit (`retention`)."""
    with_unit = (f"{name}.{unit}" for unit in UNITS)
    return next((each for each in with_unit if each in known), None) or nearest(name, known)


def unknown_key_problem(name: str, origin: Origin = NOWHERE) -> Problem:
    """The problem of an unknown broker key."""
    if name in TOPIC_KEYS and TOPIC_KEYS[name].synonyms:
        expected = f"a setting of topics; the broker's default is {TOPIC_KEYS[name].synonyms[0]}"
        return Problem(key=name, expected=expected, origin=origin)
    return Problem(
        key=name,
        expected="no such setting",
        origin=origin,
        nearest=_nearest_key(name, BROKER_KEYS) or _nearest_of_topics(name),
    )


def unknown_topic_key_problem(name: str, keys: Mapping[str, Key] = TOPIC_KEYS) -> Problem:
    """The problem of an unknown topic key; `keys`: those that there are."""
    if own := next((key.name for key in keys.values() if name in key.synonyms), None):
        return Problem(key=name, expected=f"a setting of brokers; that of topics is {own}")
    return Problem(key=name, expected="no such topic setting", nearest=_nearest_key(name, keys))


def _nearest_of_topics(name: str) -> str | None:
    """The broker's default of the topic setting that a name resembles."""
    like = nearest(name, TOPIC_KEYS)
    return TOPIC_KEYS[like].synonyms[0] if like is not None and TOPIC_KEYS[like].synonyms else None
