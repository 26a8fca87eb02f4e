"""The topic settings that a log acts on, under Kafka's names and with its defaults (Kafka 3.9 `LogConfig`)."""

import random
from dataclasses import dataclass, field

FOREVER = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """The settings for rolls, flushes, retention and compaction; -1 turns a retention limit off.

    `roll_ms`: `segment.ms`, for a compacted topic no more than `max.compaction.lag.ms`.
    """

    segment_bytes: int = 1 << 30
    segment_ms: int = 604_800_000
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10_485_760
    index_interval_bytes: int = 4096
    flush_messages: int = FOREVER
    flush_ms: int = FOREVER
    retention_ms: int = 604_800_000
    retention_bytes: int = -1
    cleanup_policy: tuple[str, ...] = ("delete",)
    file_delete_delay_ms: int = 60_000
    preallocate: bool = False
    delete_retention_ms: int = 86_400_000
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = FOREVER
    min_cleanable_dirty_ratio: float = 0.5
    roll_ms: int = field(init=False)

    def __post_init__(self) -> None:
        roll_ms = min(self.segment_ms, self.max_compaction_lag_ms) if self.is_compacted else self.segment_ms
        object.__setattr__(self, "roll_ms", roll_ms)

    @property
    def is_compacted(self) -> bool:
        return "compact" in self.cleanup_policy

    @property
    def has_delete_policy(self) -> bool:
        return "delete" in self.cleanup_policy

    def pick_jitter_ms(self) -> int:
        """A random time by which one segment rolls earlier than `segment.ms`, so that not all roll at once."""
        most = min(self.segment_jitter_ms, self.segment_ms)
        return random.randrange(most) if most > 0 else 0
