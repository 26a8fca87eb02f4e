"""Chooses how a record set becomes a batch of the log: kept in place, converted or rebuilt.

Source: `LogValidator.validateMessagesAndAssignOffsets` of Kafka 3.9 with target magic 2, the only one that logs accept
since inter.broker.protocol.version 3.0. The choice is a small table, which can be printed:

    python -c "from stepdown.storage.validation.append_method import method_table; print(method_table())"
"""

from dataclasses import dataclass
from enum import Enum
from itertools import product


class AppendMethod(Enum):
    """How a record set becomes a batch of the log."""

    IN_PLACE = "in place, uncompressed"
    IN_PLACE_COMPRESSED = "in place, compressed"
    CONVERT = "convert to one uncompressed batch"
    REBUILD = "rebuild into one batch of the target codec"


@dataclass(frozen=True, slots=True)
class RecordSetShape:
    """The properties of a record set that decide the method."""

    source_compressed: bool
    target_compressed: bool
    same_codec: bool
    magic_2: bool
    control: bool


def choose_method(shape: RecordSetShape) -> AppendMethod:
    """The method for a record set, before its records have been checked.

    `IN_PLACE_COMPRESSED` may still become `REBUILD`: some clients write wrong offset deltas inside a batch, and Kafka
    has always rewritten such batches instead of refusing them.
    """
    if not shape.source_compressed and not shape.target_compressed:
        return AppendMethod.IN_PLACE if shape.magic_2 else AppendMethod.CONVERT
    if shape.control and not shape.source_compressed:
        return AppendMethod.IN_PLACE
    return AppendMethod.IN_PLACE_COMPRESSED if shape.same_codec and shape.magic_2 else AppendMethod.REBUILD


def method_table() -> str:
    """The method for every possible shape, one line each."""
    lines = ["source     target     codec    magic control method"]
    for source, target, same, magic_2, control in product((False, True), repeat=5):
        possible = same == (source == target) or (source and target)
        if not possible or (control and not magic_2):
            continue
        shape = RecordSetShape(source, target, same, magic_2, control)
        names = ("compressed" if source else "plain", "compressed" if target else "plain", "same" if same else "other")
        line = "{:<10} {:<10} {:<8}".format(*names)
        lines.append(
            f"{line} {'2' if magic_2 else '0, 1':<5} {'yes' if control else 'no':<7} {choose_method(shape).value}"
        )
    return "\n".join(lines)
