"""The settings that Kafka gives its internal topics.

Sources: Kafka 3.9 `GroupMetadataManager.groupMetadataTopicConfigs`, `TransactionStateManager.transactionTopicConfigs`.
"""

from collections.abc import Mapping

from ...config import BrokerSettings
from .topic_rules import OFFSETS_TOPIC, TRANSACTION_TOPIC


def internal_topic_overrides(name: str, settings: BrokerSettings, most_replicas: int = 1) -> Mapping[str, str]:
    """The overrides that Kafka gives this topic when it makes it; none for a topic that is not internal."""
    if name == OFFSETS_TOPIC:
        return {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(settings.offsets_topic_segment_bytes),
        }
    if name == TRANSACTION_TOPIC:
        return {
            "unclean.leader.election.enable": "false",
            "compression.type": "uncompressed",
            "cleanup.policy": "compact",
            "min.insync.replicas": str(min(settings.transaction_state_log_min_isr, most_replicas)),
            "segment.bytes": str(settings.transaction_state_log_segment_bytes),
        }
    return {}
