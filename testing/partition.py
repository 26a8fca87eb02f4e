"""The state of a partition, from the brokers' control or from Metadata."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """`leader` is the id of a broker, -1 for none. `high_watermark` is None without a leader.

    `log_ends` and `high_watermarks` of the replicas, by broker id, are known only of running brokers of stepdown.
    """

    topic: str
    index: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: frozenset[int]
    high_watermark: int | None = None
    log_ends: Mapping[int, int] = field(default_factory=dict)
    high_watermarks: Mapping[int, int] = field(default_factory=dict)

    def __str__(self) -> str:
        leader = f"led by {self.leader}" if self.leader >= 0 else "without a leader"
        shown = f"{self.topic}-{self.index} is {leader} in epoch {self.leader_epoch}, ISR {sorted(self.isr)}"
        if self.high_watermark is not None:
            shown += f", high watermark {self.high_watermark}"
        return f"{shown}, log ends {dict(self.log_ends)}" if self.log_ends else shown


def partition_from_metadata(topic: str, found: Mapping[str, Any], high_watermark: int | None) -> Partition:
    """Makes a partition from an entry of `describe_topics`."""
    return _make_partition(topic, found, high_watermark=high_watermark)


def partition_from_control(topic: str, found: Mapping[str, Any]) -> Partition:
    """Makes a partition from a response of the control."""
    logs = found["logs"]
    high_watermarks = {each["broker"]: each["high_watermark"] for each in logs}
    return _make_partition(
        topic,
        found,
        high_watermark=high_watermarks.get(found["leader"]),
        log_ends={each["broker"]: each["log_end_offset"] for each in logs},
        high_watermarks=high_watermarks,
    )


def _make_partition(topic: str, found: Mapping[str, Any], **offsets: Any) -> Partition:
    return Partition(
        topic=topic,
        index=found["partition"],
        leader=found["leader"],
        leader_epoch=found["leader_epoch"],
        replicas=tuple(found["replicas"]),
        isr=frozenset(found["isr"]),
        **offsets,
    )
