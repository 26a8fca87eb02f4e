"""What of a log cannot be read: the bytes of a file, offsets that no file has, or both.

| kind | what |
|---|---|
| `corrupt` | bytes that are no batch: a wrong checksum, size, magic or record |
| `missing` | offsets that the log had and that no batch has: a segment or a part of one is gone |
| `deleted` | a file that was there when the query was planned |
| `overlapping` | offsets that two segments have |
"""

from collections.abc import Callable
from dataclasses import dataclass

from ..failures import DataLoss

CORRUPT = "corrupt"
MISSING = "missing"
DELETED = "deleted"
OVERLAPPING = "overlapping"


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """One damage of a partition. Offsets from `first_offset` to `end_offset` (open), None where nothing tells them.

    `file`, `position` and `size_bytes` say where the damaged bytes are, or after which bytes offsets are missing.
    """

    topic: str
    partition: int
    kind: str
    reason: str
    file: str | None = None
    position: int | None = None
    size_bytes: int | None = None
    first_offset: int | None = None
    end_offset: int | None = None

    def __str__(self) -> str:
        if self.kind == CORRUPT:
            return f"{self.file}: position {self.position}, {self.reason}"
        return f"{self.topic}-{self.partition}: {self.reason}"


def missing_offsets_damage(
    topic: str,
    partition: int,
    first: int,
    end: int,
    where: str,
    *,
    file: str | None = None,
    position: int | None = None,
) -> Damage:
    """Offsets `first` to `end` (open) that are not there; `where` says by what that is known."""
    named = f"offset {first} is" if end == first + 1 else f"offsets {first} to {end - 1} are"
    return Damage(
        topic=topic,
        partition=partition,
        kind=MISSING,
        reason=f"{named} missing: {where}",
        file=file,
        position=position,
        first_offset=first,
        end_offset=end,
    )


def raise_or_keep_loss(damage: Damage, *, is_failure: bool, keep: Callable[[Damage], object]) -> None:
    """End the query for lost offsets, or `keep` them. Raises: DataLoss."""
    if is_failure:
        raise DataLoss(f"{damage}; failOnDataLoss=false reads what is there")
    keep(damage)
