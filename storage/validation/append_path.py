"""The choice of how a record set gets into the log: kept in place, converted or rebuilt.

Source: `LogValidator.validateMessagesAndAssignOffsets` of Kafka 3.9 with target magic 2, the only magic a log has taken
since inter.broker.protocol.version 3.0. The choice is a small table that can be printed:

    python -c "from stepdown.storage.validation.append_path import path_table; print(path_table())"
"""

from dataclasses import dataclass
from enum import Enum
from itertools import product


class AppendPath(Enum):
    """How a record set becomes batches of the log."""

    IN_PLACE = "in place, uncompressed"
    IN_PLACE_COMPRESSED = "in place, compressed"
    CONVERT = "convert to one uncompressed batch"
    REBUILD = "rebuild into one batch of the target codec"


@dataclass(frozen=True, slots=True)
class RecordSetShape:
    """What the choice of a path looks at."""

    source_compressed: bool
    target_compressed: bool
    same_codec: bool
    magic_2: bool
    control: bool


def choose_path(shape: RecordSetShape) -> AppendPath:
    """The path for a record set, before its records have been looked at.

    `IN_PLACE_COMPRESSED` may still become `REBUILD`: some clients number the records inside a batch wrongly, and Kafka
    has always rewritten those batches instead of refusing them.
    """
    if not shape.source_compressed and not shape.target_compressed:
        return AppendPath.IN_PLACE if shape.magic_2 else AppendPath.CONVERT
    if shape.control and not shape.source_compressed:
        return AppendPath.IN_PLACE
    return AppendPath.IN_PLACE_COMPRESSED if shape.same_codec and shape.magic_2 else AppendPath.REBUILD


def path_table() -> str:
    """The choice for every shape that exists, one line each."""
    lines = ["source     target     codec    magic control path"]
    for source, target, same, magic_2, control in product((False, True), repeat=5):
        possible = same == (source == target) or (source and target)
        if not possible or (control and not magic_2):
            continue
        shape = RecordSetShape(source, target, same, magic_2, control)
        names = ("compressed" if source else "plain", "compressed" if target else "plain", "same" if same else "other")
        line = "{:<10} {:<10} {:<8}".format(*names)
        lines.append(
            f"{line} {'2' if magic_2 else '0, 1':<5} {'yes' if control else 'no':<7} {choose_path(shape).value}"
        )
    return "\n".join(lines)
