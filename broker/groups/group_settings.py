"""The broker's settings of groups, in the form in which groups read them."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import uuid4

from ...config.settings import BrokerSettings

MINUTE_MS = 60_000
NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * MINUTE_MS
METADATA_REFRESH_MS = 5 * MINUTE_MS


def _random_id() -> str:
    return str(uuid4())


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettings:
    """Limits and times of groups; `assignors` by short name, the first is the default."""

    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    initial_rebalance_delay_ms: int = 3_000
    max_size: int = 2**31 - 1
    new_member_join_timeout_ms: int = NEW_MEMBER_JOIN_TIMEOUT_MS
    offers_consumer_protocol: bool = False
    consumer_session_timeout_ms: int = 45_000
    consumer_heartbeat_interval_ms: int = 5_000
    consumer_max_size: int = 2**31 - 1
    consumer_metadata_refresh_ms: int = METADATA_REFRESH_MS
    may_upgrade: bool = False
    may_downgrade: bool = False
    assignors: tuple[str, ...] = ("uniform", "range")
    metadata_max_chars: int = 4_096
    offsets_retention_ms: int = 10_080 * MINUTE_MS
    random_id: Callable[[], str] = _random_id

    @classmethod
    def of(cls, settings: BrokerSettings) -> "GroupSettings":
        """Takes them from the broker's settings."""
        policy = settings.group_consumer_migration_policy.lower()
        return cls(
            min_session_timeout_ms=settings.group_min_session_timeout_ms,
            max_session_timeout_ms=settings.group_max_session_timeout_ms,
            initial_rebalance_delay_ms=settings.group_initial_rebalance_delay_ms,
            max_size=settings.group_max_size,
            offers_consumer_protocol="consumer" in settings.group_coordinator_rebalance_protocols,
            consumer_session_timeout_ms=settings.group_consumer_session_timeout_ms,
            consumer_heartbeat_interval_ms=settings.group_consumer_heartbeat_interval_ms,
            consumer_max_size=settings.group_consumer_max_size,
            may_upgrade=policy in ("upgrade", "bidirectional"),
            may_downgrade=policy in ("downgrade", "bidirectional"),
            assignors=tuple(_short_name(name) for name in settings.group_consumer_assignors),
            metadata_max_chars=settings.offset_metadata_max_bytes,
            offsets_retention_ms=settings.offsets_retention_minutes * MINUTE_MS,
        )


def _short_name(class_name: str) -> str:
    """`uniform` for Kafka's class `….UniformAssignor`; a short name stays as it is."""
    return class_name.rpartition(".")[2].removesuffix("Assignor").lower()
