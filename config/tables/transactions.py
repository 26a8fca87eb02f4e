"""Broker keys of idempotent producers and transactions.

Sources: Kafka 3.9 TransactionLogConfigs, TransactionStateManagerConfigs.
"""

from __future__ import annotations

from ..keys.key import AT_START, BOOLEAN, CLUSTER, INT, SHORT, active
from ..keys.value_checks import AtLeast

PRODUCERS = (
    active(
        "producer.id.expiration.ms",
        INT,
        86_400_000,
        AtLeast(1),
        CLUSTER,
        "Time without writing after which a partition forgets the sequence numbers of an idempotent producer.",
    ),
    active(
        "producer.id.expiration.check.interval.ms",
        INT,
        600_000,
        AtLeast(1),
        AT_START,
        "Time between two looks for producers that have expired.",
        internal=True,
    ),
)

TRANSACTIONS = (
    active(
        "transaction.max.timeout.ms",
        INT,
        900_000,
        AtLeast(1),
        AT_START,
        "Largest transaction timeout that a producer may ask for.",
    ),
    active(
        "transactional.id.expiration.ms",
        INT,
        604_800_000,
        AtLeast(1),
        AT_START,
        "Time without a transaction after which a transactional id is forgotten.",
    ),
    active(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        INT,
        10_000,
        AtLeast(1),
        AT_START,
        "Time between two looks for transactions that have exceeded their timeout.",
    ),
    active(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        INT,
        3_600_000,
        AtLeast(1),
        AT_START,
        "Time between two looks for transactional ids that have expired.",
    ),
    active(
        "transaction.partition.verification.enable",
        BOOLEAN,
        True,
        None,
        CLUSTER,
        "Whether a partition asks the coordinator, before it takes the first batch of a transaction, if the "
        "transaction is open (KIP-890).",
    ),
)

STATE_LOG = (
    active(
        "transaction.state.log.num.partitions",
        INT,
        50,
        AtLeast(1),
        AT_START,
        "Partitions of __transaction_state; not to be changed once the topic exists.",
    ),
    active(
        "transaction.state.log.replication.factor",
        SHORT,
        3,
        AtLeast(1),
        AT_START,
        "Replicas of __transaction_state; capped at the number of brokers.",
    ),
    active(
        "transaction.state.log.min.isr",
        INT,
        2,
        AtLeast(1),
        AT_START,
        "min.insync.replicas of __transaction_state; capped at the number of replicas.",
    ),
    active(
        "transaction.state.log.segment.bytes",
        INT,
        104_857_600,
        AtLeast(1),
        AT_START,
        "segment.bytes of __transaction_state.",
    ),
    active(
        "transaction.state.log.load.buffer.size",
        INT,
        5_242_880,
        AtLeast(1),
        AT_START,
        "Bytes that are read at a time when __transaction_state is loaded.",
        attribute="transaction_state_log_load_buffer_bytes",
    ),
)

KEYS = PRODUCERS + TRANSACTIONS + STATE_LOG
