"""Broker keys of the KRaft controller. Sources: Kafka 3.9 KRaftConfigs, QuorumConfig."""

from __future__ import annotations

from ..keys.key import AT_START, BOOLEAN, INT, LIST, LONG, MAX_LONG, STRING, active, inert
from ..keys.value_checks import AtLeast, EachOf

KEYS = (
    active(
        "metadata.log.dir",
        STRING,
        None,
        None,
        AT_START,
        "Directory of __cluster_metadata-0, the state of the cluster; none: the first of log.dirs. Where another of "
        "these directories has one already, that is used.",
    ),
    active(
        "metadata.log.max.record.bytes.between.snapshots",
        LONG,
        20_971_520,
        AtLeast(1),
        AT_START,
        "Bytes of the metadata log after which a snapshot takes the place of what is before it.",
    ),
    *inert(
        "The broker is its own controller.",
        ("broker.heartbeat.interval.ms", INT, 2000, None, AT_START),
        ("broker.id.generation.enable", BOOLEAN, True, None, AT_START),
        ("controlled.shutdown.enable", BOOLEAN, True, None, AT_START),
        ("controlled.shutdown.max.retries", INT, 3, None, AT_START),
        ("controlled.shutdown.retry.backoff.ms", LONG, 5000, None, AT_START),
        ("controller.quorum.append.linger.ms", INT, 25, None, AT_START),
        ("controller.quorum.bootstrap.servers", LIST, (), None, AT_START),
        ("controller.quorum.election.backoff.max.ms", INT, 1000, None, AT_START),
        ("controller.quorum.election.timeout.ms", INT, 1000, None, AT_START),
        ("controller.quorum.fetch.timeout.ms", INT, 2000, None, AT_START),
        ("controller.quorum.request.timeout.ms", INT, 2000, None, AT_START),
        ("controller.quorum.retry.backoff.ms", INT, 20, None, AT_START),
        ("controller.quorum.voters", LIST, (), None, AT_START),
        ("controller.quota.window.num", INT, 11, AtLeast(1), AT_START),
        ("controller.quota.window.size.seconds", INT, 1, AtLeast(1), AT_START),
        ("controller.socket.timeout.ms", INT, 30_000, None, AT_START),
        ("eligible.leader.replicas.enable", BOOLEAN, False, None, AT_START),
        ("initial.broker.registration.timeout.ms", INT, 60_000, None, AT_START),
        ("leader.imbalance.per.broker.percentage", INT, 10, None, AT_START),
        ("metadata.log.max.snapshot.interval.ms", LONG, 3_600_000, AtLeast(0), AT_START),
        ("metadata.log.segment.bytes", INT, 1_073_741_824, AtLeast(12), AT_START),
        ("metadata.log.segment.ms", LONG, 604_800_000, None, AT_START),
        ("metadata.max.idle.interval.ms", INT, 500, AtLeast(0), AT_START),
        ("metadata.max.retention.bytes", LONG, 104_857_600, None, AT_START),
        ("metadata.max.retention.ms", LONG, 604_800_000, None, AT_START),
        ("process.roles", LIST, (), EachOf(("broker", "controller")), AT_START),
        ("reserved.broker.max.id", INT, 1000, AtLeast(0), AT_START),
    ),
    *inert(
        "The broker is its own controller.",
        ("metadata.log.segment.min.bytes", INT, 8_388_608, AtLeast(12), AT_START),
        ("server.max.startup.time.ms", LONG, MAX_LONG, AtLeast(0), AT_START),
        ("unclean.leader.election.interval.ms", LONG, 300_000, AtLeast(1), AT_START),
        ("unstable.api.versions.enable", BOOLEAN, False, None, AT_START),
        ("unstable.feature.versions.enable", BOOLEAN, False, None, AT_START),
        internal=True,
    ),
)
