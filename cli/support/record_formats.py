"""`--as v0|v1|v2`: the record formats, and the versions of Produce and Fetch that carry each.

    format        Produce   Fetch
    v0 (magic 0)  0-1       0-1      until Kafka 0.9
    v1 (magic 1)  2         2-3      0.10: timestamps
    v2 (magic 2)  3-        4-       0.11: headers, transactions

Source: Kafka 3.9, RecordVersion, ProduceRequest.toMagic and FetchRequest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from ...client.versions import ANY_VERSION, VersionRange
from .failures import EXIT_BAD_USAGE, CommandFailure

NAMES_BY_FETCH_UP_TO = 12
"""The last version of Fetch that names topics; later ones have topic ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFormat:
    """A record format, and the versions of Produce and Fetch that carry it."""

    name: str
    produce: VersionRange
    fetch: VersionRange
    has_timestamps: bool = True
    has_headers: bool = False


FORMATS: Final = {
    each.name: each
    for each in (
        RecordFormat(name="v0", produce=(0, 1), fetch=(0, 1), has_timestamps=False),
        RecordFormat(name="v1", produce=(2, 2), fetch=(2, 3)),
        RecordFormat(name="v2", produce=(3, ANY_VERSION[1]), fetch=(4, NAMES_BY_FETCH_UP_TO), has_headers=True),
    )
}
NEWEST: Final = RecordFormat(
    name="", produce=ANY_VERSION, fetch=(ANY_VERSION[0], NAMES_BY_FETCH_UP_TO), has_headers=True
)
"""Any format of the broker: the default without `--as`."""

AsFormat = Annotated[
    str | None, typer.Option("--as", metavar="v0|v1|v2", help="Use this record format, and API versions of its time.")
]


def parse_record_format(name: str | None) -> RecordFormat:
    """Returns the format that `--as` names. Raises: CommandFailure."""
    if name is None:
        return NEWEST
    if name not in FORMATS:
        raise CommandFailure(f"--as: expected v0, v1 or v2, found {name!r}", "", EXIT_BAD_USAGE)
    return FORMATS[name]
