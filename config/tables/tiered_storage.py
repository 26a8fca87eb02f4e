"""Broker keys of tiered storage. Source: Kafka 3.9 RemoteLogManagerConfig."""

from __future__ import annotations

from ..keys.key import AT_START, BOOLEAN, CLUSTER, DOUBLE, INT, LONG, MAX_LONG, STRING, inert
from ..keys.value_checks import AtLeast, Between

METADATA_MANAGER = "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager"

KEYS = (
    *inert(
        "There is no tiered storage.",
        ("remote.fetch.max.wait.ms", INT, 500, AtLeast(1), CLUSTER),
        ("remote.log.index.file.cache.total.size.bytes", LONG, 1_073_741_824, AtLeast(1), CLUSTER),
        ("remote.log.manager.copier.thread.pool.size", INT, -1, None, AT_START),
        ("remote.log.manager.copy.max.bytes.per.second", LONG, MAX_LONG, AtLeast(1), CLUSTER),
        ("remote.log.manager.copy.quota.window.num", INT, 11, AtLeast(1), AT_START),
        ("remote.log.manager.copy.quota.window.size.seconds", INT, 1, AtLeast(1), AT_START),
        ("remote.log.manager.expiration.thread.pool.size", INT, -1, None, AT_START),
        ("remote.log.manager.fetch.max.bytes.per.second", LONG, MAX_LONG, AtLeast(1), CLUSTER),
        ("remote.log.manager.fetch.quota.window.num", INT, 11, AtLeast(1), AT_START),
        ("remote.log.manager.fetch.quota.window.size.seconds", INT, 1, AtLeast(1), AT_START),
        ("remote.log.manager.task.interval.ms", LONG, 30_000, AtLeast(1), AT_START),
        ("remote.log.manager.thread.pool.size", INT, 10, AtLeast(1), AT_START),
        ("remote.log.metadata.custom.metadata.max.bytes", INT, 128, AtLeast(0), AT_START),
        (
            "remote.log.metadata.manager.class.name",
            STRING,
            METADATA_MANAGER,
            None,
            AT_START,
        ),
        ("remote.log.metadata.manager.class.path", STRING, None, None, AT_START),
        ("remote.log.metadata.manager.impl.prefix", STRING, "rlmm.config.", None, AT_START),
        ("remote.log.metadata.manager.listener.name", STRING, None, None, AT_START),
        ("remote.log.reader.max.pending.tasks", INT, 100, AtLeast(1), AT_START),
        ("remote.log.reader.threads", INT, 10, AtLeast(1), AT_START),
        ("remote.log.storage.manager.class.name", STRING, None, None, AT_START),
        ("remote.log.storage.manager.class.path", STRING, None, None, AT_START),
        ("remote.log.storage.manager.impl.prefix", STRING, "rsm.config.", None, AT_START),
        ("remote.log.storage.system.enable", BOOLEAN, False, None, AT_START),
    ),
    *inert(
        "There is no tiered storage.",
        ("remote.log.manager.task.retry.backoff.max.ms", LONG, 30_000, AtLeast(1), AT_START),
        ("remote.log.manager.task.retry.backoff.ms", LONG, 500, AtLeast(1), AT_START),
        ("remote.log.manager.task.retry.jitter", DOUBLE, 0.2, Between(0, 0.5), AT_START),
        internal=True,
    ),
)
