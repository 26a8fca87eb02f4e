"""Which committed offsets have outlived `offsets.retention.minutes`.

    group                                        from when on the retention counts          kept whatever their age
    with a protocol type, Empty                  when it became Empty; if that is not       -
                                                 known, when the offset was committed
    classic `consumer`, Stable, subscriptions    when the offset was committed              topics that are subscribed
    known; consumer protocol (KIP-848)
    without a protocol type (offsets only)       when the offset was committed              -
    any other (it rebalances, or the broker      never                                      all
    cannot read the subscriptions)

An expiry that the commit has set (OffsetCommit v2 to v4) replaces the retention. What an open transaction or an
unreplicated commit is about to set is kept. Source: Kafka 3.9, ClassicGroup.offsetExpirationCondition and
OffsetExpirationConditionImpl.
"""

from collections.abc import Callable, Iterable

from ..classic.group import ClassicGroup
from ..classic.state_table import ClassicGroupState
from ..consumer.group import ConsumerGroup
from .committed_offsets import CommittedOffset, Offsets, TopicPartition

Base = Callable[[CommittedOffset], int]
NO_EXPIRY = -1


def find_expired_offsets(
    group: ClassicGroup | ConsumerGroup,
    offsets: Offsets,
    among: Iterable[TopicPartition],
    *,
    now_ms: int,
    retention_ms: int,
) -> list[TopicPartition]:
    """Those of `among` whose offsets have expired."""
    base = _retention_base(group)
    if base is None:
        return []
    group_id = group.group_id
    return [
        where
        for where in among
        if (offset := offsets.find(group_id, *where)) is not None
        and _is_expired(offset, base, now_ms, retention_ms)
        and not group.is_subscribed_to(where[0])
        and not offsets.is_unstable(group_id, *where)
    ]


def _is_expired(offset: CommittedOffset, base: Base, now_ms: int, retention_ms: int) -> bool:
    if offset.expire_ms != NO_EXPIRY:
        return now_ms >= offset.expire_ms
    return now_ms - base(offset) >= retention_ms


def _retention_base(group: ClassicGroup | ConsumerGroup) -> Base | None:
    """Returns the function that gives the start of an offset's retention; None: offsets do not expire."""
    if isinstance(group, ConsumerGroup) or group.protocol_type is None:
        return _commit_ms_of
    if group.state is ClassicGroupState.EMPTY:
        since = group.state_since_ms
        return _commit_ms_of if since is None else lambda offset: since
    knows_subscriptions = group.uses_consumer_protocol and group.subscribed_topics is not None
    return _commit_ms_of if knows_subscriptions and group.state is ClassicGroupState.STABLE else None


def _commit_ms_of(offset: CommittedOffset) -> int:
    return offset.commit_ms
