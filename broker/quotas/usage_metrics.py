"""Metrics of what users and clients with a quota used, and how long they waited.

The label `type` is that of Kafka's beans, `kafka.server:type=Produce,user=…,client-id=…`.
"""

from ..metrics.metrics import Metrics
from .quota_lookup import Entity

PRODUCE, FETCH, REQUEST, MUTATION = "Produce", "Fetch", "Request", "ControllerMutation"
MOST_CHARACTERS = 200
"""The characters of a name that a label keeps: clients choose the names."""


class QuotaUsage:
    """Clients that share a quota are counted together; the label is "" where the quota is for any user or client id."""

    def __init__(self, metrics: Metrics) -> None:
        self._bytes = metrics.quota_bytes
        self._throttle = metrics.quota_throttle_seconds

    def count_bytes(self, kind: str, entity: Entity, size_bytes: int) -> None:
        self._bytes.of(kind, *_labels(entity)).value += size_bytes

    def count_throttling(self, kind: str, entity: Entity, throttle_ms: int) -> None:
        """Counts the wait for the quota with the longest one."""
        self._throttle.of(kind, *_labels(entity)).value += throttle_ms / 1000


def _labels(entity: Entity) -> tuple[str, str]:
    user, client_id = entity
    return user[:MOST_CHARACTERS], client_id[:MOST_CHARACTERS]
