"""Broker keys of replication. Source: Kafka 3.9 ReplicationConfigs."""

from __future__ import annotations

from ..keys.key import AT_START, CLUSTER, INT, LONG, STRING, accepted
from ..keys.value_checks import AtLeast

KEYS = (
    *accepted(
        "There is one replica of each partition.",
        ("alter.log.dirs.replication.quota.window.num", INT, 11, AtLeast(1), AT_START),
        ("alter.log.dirs.replication.quota.window.size.seconds", INT, 1, AtLeast(1), AT_START),
        ("num.replica.alter.log.dirs.threads", INT, None, None, AT_START),
        ("num.replica.fetchers", INT, 1, None, CLUSTER),
        ("replica.fetch.backoff.ms", INT, 1000, AtLeast(0), AT_START),
        ("replica.fetch.max.bytes", INT, 1_048_576, AtLeast(0), AT_START),
        ("replica.fetch.min.bytes", INT, 1, None, AT_START),
        ("replica.fetch.response.max.bytes", INT, 10_485_760, AtLeast(0), AT_START),
        ("replica.fetch.wait.max.ms", INT, 500, None, AT_START),
        ("replica.lag.time.max.ms", LONG, 30_000, None, AT_START),
        ("replica.selector.class", STRING, None, None, AT_START),
        ("replica.socket.receive.buffer.bytes", INT, 65_536, None, AT_START),
        ("replica.socket.timeout.ms", INT, 30_000, None, AT_START),
        ("replication.quota.window.num", INT, 11, AtLeast(1), AT_START),
        ("replication.quota.window.size.seconds", INT, 1, AtLeast(1), AT_START),
    ),
)
