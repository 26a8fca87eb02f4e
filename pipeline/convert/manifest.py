"""`manifest.parquet` of a converted log directory: one row a segment, and for what magic it was made.

topic string, partition int, segment bigint, bytes_in bigint, bytes_out bigint, records bigint, batches bigint,
sha256 string      of the segment file
"""

import io
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from ..failures import BadUsage
from ..places.place_files import PlaceFiles
from .segment_conversion import SegmentOutcome

NAME = "manifest.parquet"
MAX_BYTES = 1 << 30
_MADE_FOR = b"stepdown.converted_to"
_LOSSES = ("headers", "producer_batches", "control_batches", "timestamps")

SCHEMA = pa.schema(
    [
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("segment", pa.int64()),
        pa.field("bytes_in", pa.int64()),
        pa.field("bytes_out", pa.int64()),
        pa.field("records", pa.int64()),
        pa.field("batches", pa.int64()),
        pa.field("sha256", pa.string()),
        *(pa.field(name, pa.int64()) for name in _LOSSES),
    ]
)


def read_manifest(files: PlaceFiles, directory: str, made_for: str) -> dict[tuple[str, int, int], SegmentOutcome]:
    """The segments that a former run finished. Raises: BadUsage when it was for something else than `made_for`."""
    path = f"{directory}/{NAME}"
    data = files.read_whole(path, MAX_BYTES)
    if data is None:
        return {}
    try:
        table = pq.read_table(io.BytesIO(data))
    except (pa.ArrowException, OSError) as damage:
        reason = str(damage).partition("\n")[0]
        raise BadUsage(f"{path} cannot be read ({reason}): convert into another folder") from damage
    before = (table.schema.metadata or {}).get(_MADE_FOR, b"").decode()
    if before != made_for:
        raise BadUsage(f"{directory} holds a conversion to {before or 'something else'}, not to {made_for}")
    outcomes = (SegmentOutcome(**row) for row in table.to_pylist())
    return {outcome.key: outcome for outcome in outcomes}


def write_manifest(files: PlaceFiles, directory: str, made_for: str, outcomes: Sequence[SegmentOutcome]) -> None:
    """Replace the manifest, safely on the disk when this returns. Raises: DiskFault."""
    rows = [
        {name: getattr(outcome, name) for name in SCHEMA.names} for outcome in sorted(outcomes, key=lambda o: o.key)
    ]
    table = pa.Table.from_pylist(rows, schema=SCHEMA).replace_schema_metadata({_MADE_FOR: made_for.encode()})
    out = io.BytesIO()
    pq.write_table(table, out)
    files.replace(f"{directory}/{NAME}", out.getvalue())
