"""Broker keys of replication. Source: Kafka 3.9 ReplicationConfigs."""

from __future__ import annotations

from ..keys.key import AT_START, BOOLEAN, CLUSTER, INT, LONG, STRING, active, inert
from ..keys.value_checks import AtLeast

KEYS = (
    active(
        "replica.lag.time.max.ms",
        LONG,
        30_000,
        None,
        AT_START,
        "In a cluster: a follower that was not caught up for so long leaves the ISR. Looked at twice in this time.",
    ),
    active(
        "replica.fetch.max.bytes",
        INT,
        1_048_576,
        AtLeast(0),
        AT_START,
        "In a cluster: bytes that a follower fetches of a partition at a time; at least one batch.",
    ),
    active(
        "replica.selector.class",
        STRING,
        None,
        None,
        AT_START,
        "In a cluster: org.apache.kafka.common.replica.RackAwareReplicaSelector sends consumers that name a rack to "
        "a follower in it (KIP-392); others have no effect.",
    ),
    active(
        "broker.session.timeout.ms",
        INT,
        9000,
        None,
        AT_START,
        "In a cluster: a broker that was killed or is paused is fenced after this time.",
    ),
    active(
        "auto.leader.rebalance.enable",
        BOOLEAN,
        True,
        None,
        AT_START,
        "In a cluster: preferred replicas become leaders again when they are in sync.",
    ),
    active(
        "leader.imbalance.check.interval.seconds",
        LONG,
        300,
        AtLeast(1),
        AT_START,
        "How often that is looked at.",
    ),
    *inert(
        "Followers are in the same process: nothing of it is needed.",
        ("alter.log.dirs.replication.quota.window.num", INT, 11, AtLeast(1), AT_START),
        ("alter.log.dirs.replication.quota.window.size.seconds", INT, 1, AtLeast(1), AT_START),
        ("num.replica.alter.log.dirs.threads", INT, None, None, AT_START),
        ("num.replica.fetchers", INT, 1, None, CLUSTER),
        ("replica.fetch.backoff.ms", INT, 1000, AtLeast(0), AT_START),
        ("replica.fetch.min.bytes", INT, 1, None, AT_START),
        ("replica.fetch.response.max.bytes", INT, 10_485_760, AtLeast(0), AT_START),
        ("replica.fetch.wait.max.ms", INT, 500, None, AT_START),
        ("replica.socket.receive.buffer.bytes", INT, 65_536, None, AT_START),
        ("replica.socket.timeout.ms", INT, 30_000, None, AT_START),
        ("replication.quota.window.num", INT, 11, AtLeast(1), AT_START),
        ("replication.quota.window.size.seconds", INT, 1, AtLeast(1), AT_START),
    ),
)
