"""A partition as a broker tells it to clients."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """`leader` is the id of a broker, -1 for none. `high_watermark` is where consumers end, None without a leader."""

    topic: str
    index: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: frozenset[int]
    high_watermark: int | None = None

    def __str__(self) -> str:
        leader = f"led by {self.leader}" if self.leader >= 0 else "without a leader"
        return f"{self.topic}-{self.index} is {leader} in epoch {self.leader_epoch}, ISR {sorted(self.isr)}"


def partition_of(topic: str, found: dict[str, Any]) -> Partition:
    """Of an entry of `describe_topics`."""
    return Partition(
        topic=topic,
        index=found["partition"],
        leader=found["leader"],
        leader_epoch=found["leader_epoch"],
        replicas=tuple(found["replicas"]),
        isr=frozenset(found["isr"]),
    )
