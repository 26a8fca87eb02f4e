"""Broker keys about the broker itself and its topics. Sources: Kafka 3.9 ServerConfigs, ServerLogConfigs."""

from __future__ import annotations

from ..keys.key import AT_START, BOOLEAN, INT, STRING, active, inert
from ..keys.value_checks import AtLeast, ReleaseVersion

IDENTITY = (
    active(
        "broker.id",
        INT,
        -1,
        AtLeast(-1),
        AT_START,
        "Number of this broker in the cluster. -1 takes the number that the log directories carry, or 1 where they are "
        "new.",
        synonyms=("broker.id", "node.id"),
    ),
    active(
        "node.id",
        INT,
        -1,
        AtLeast(-1),
        AT_START,
        "Another name for broker.id; if both are given they must be equal.",
        attribute="",
        synonyms=("node.id", "broker.id"),
    ),
    active("broker.rack", STRING, None, None, AT_START, "Rack of this broker, as Metadata tells it."),
)

TOPICS = (
    active(
        "auto.create.topics.enable",
        BOOLEAN,
        True,
        None,
        AT_START,
        "Whether a topic is created when a client asks for its metadata and allows creation.",
    ),
    active("num.partitions", INT, 1, AtLeast(1), AT_START, "Partitions of a topic that is created without a number."),
    active(
        "default.replication.factor",
        INT,
        1,
        AtLeast(1),
        AT_START,
        "Replicas of a topic that is created without a number.",
    ),
    active(
        "delete.topic.enable",
        BOOLEAN,
        True,
        None,
        AT_START,
        "Whether topics may be deleted; if not, DeleteTopics is answered TOPIC_DELETION_DISABLED.",
    ),
)

WITHOUT_EFFECT = inert(
    "The record format is v2 whatever release is named here.",
    ("inter.broker.protocol.version", STRING, "3.9-IV0", ReleaseVersion(), AT_START),
)

KEYS = IDENTITY + TOPICS + WITHOUT_EFFECT
