"""Defaults of Kafka's releases, written by tests/support/kafka_release_settings.py from their jars. Do not edit.

A test fails when a jar says something else. `release_defaults.py` reads this.
"""

DEFAULTS = """\
setting                               0.10.2  1.1     2.8 3.9 4.0              4.1              4.4
message.max.bytes                     1000012 1000012 -   -   -                -                -
log.message.timestamp.after.max.ms    -       -       -   -   3600000          3600000          3600000
unclean.leader.election.enable        true    -       -   -   -                -                -
offsets.retention.minutes             1440    1440    -   -   -                -                -
group.max.session.timeout.ms          300000  300000  -   -   -                -                -
group.initial.rebalance.delay.ms      0       -       -   -   -                -                -
group.coordinator.rebalance.protocols -       -       -   -   classic,consumer classic,consumer classic,consumer
group.consumer.migration.policy       -       -       -   -   bidirectional    bidirectional    bidirectional
replica.lag.time.max.ms               10000   10000   -   -   -                -                -
"""
"""Broker settings whose default is not that of 3.9 in all releases, `-` where it is, or there is no such setting."""

TOPIC_SETTINGS = """\
setting                             0.10.2 1.1 2.8 3.9 4.0 4.1 4.4
max.compaction.lag.ms               -      -   yes yes yes yes yes
compression.gzip.level              -      -   -   yes yes yes yes
compression.lz4.level               -      -   -   yes yes yes yes
compression.zstd.level              -      -   -   yes yes yes yes
message.downconversion.enable       -      -   yes yes -   -   -
message.format.version              yes    yes yes yes -   -   -
message.timestamp.before.max.ms     -      -   -   yes yes yes yes
message.timestamp.after.max.ms      -      -   -   yes yes yes yes
message.timestamp.difference.max.ms yes    yes yes yes -   -   -
remote.storage.enable               -      -   -   yes yes yes yes
remote.log.copy.disable             -      -   -   yes yes yes yes
remote.log.delete.on.disable        -      -   -   yes yes yes yes
local.retention.ms                  -      -   -   yes yes yes yes
local.retention.bytes               -      -   -   yes yes yes yes
"""
"""Topic settings that not all releases have: `yes` where one has it, else `-`."""
