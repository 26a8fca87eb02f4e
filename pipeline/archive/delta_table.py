"""The files of a batch as one commit of a Delta table, by delta-rs: no jar, and any store that has a place.

The commit carries the archive's id and the batch's number (`txn`), by which a table knows a batch that it has.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from ...storage.files.clock import SystemClock
from ..failures import BadUsage
from .parquet_files import ArchivedFile, file_schema
from .partitioning import PartitionBy, partition_columns

_NEEDS_DELTA = (
    "--format delta from a log directory needs deltalake: pip install '.[delta]' where stepdown's sources are"
)


def table_schema(lineage: bool, timestamp_ms: bool, partition_by: PartitionBy) -> Any:
    """The Arrow schema of the table: the columns of its files, and those that the folders name."""
    named = [
        pa.field(name, pa.string() if name == "topic" else pa.date32()) for name in partition_columns(partition_by)
    ]
    return pa.schema([*file_schema(lineage, timestamp_ms), *named])


class DeltaArchive:
    """The table at `out`, which need not exist yet. `store` are options by obstore's names, which are delta-rs' too."""

    def __init__(
        self,
        out: str,
        store: Mapping[str, str],
        *,
        archive_id: str,
        lineage: bool,
        timestamp_ms: bool = False,
        partition_by: PartitionBy = "date",
    ) -> None:
        """Raises: BadUsage where deltalake is missing."""
        try:
            import deltalake
        except ImportError as missing:
            raise BadUsage(_NEEDS_DELTA) from missing
        self._deltalake = deltalake
        self._out = out
        self._id = archive_id
        self._schema = table_schema(lineage, timestamp_ms, partition_by)
        self._partitioned_by = partition_columns(partition_by)
        self._options = _allow_plain_http(store)

    def has_committed(self, batch: int) -> bool:
        """Whether the batch is committed."""
        if not self._deltalake.DeltaTable.is_deltatable(self._out, self._options):
            return False
        version = self._table().transaction_version(self._id)
        return version is not None and version >= batch

    def commit(self, batch: int, files: Sequence[ArchivedFile]) -> None:
        """Add the files of a batch at once."""
        if not self._deltalake.DeltaTable.is_deltatable(self._out, self._options):
            self._deltalake.DeltaTable.create(
                self._out, self._schema, partition_by=self._partitioned_by, storage_options=self._options
            )
        now_ms = SystemClock().now_ms()
        properties = self._deltalake.CommitProperties(
            app_transactions=[self._deltalake.Transaction(self._id, batch, now_ms)]
        )
        self._table().create_write_transaction(
            [self._add_action(file, now_ms) for file in files],
            mode="append",
            schema=self._schema,
            partition_by=self._partitioned_by,
            commit_properties=properties,
        )

    def compact(self, file_bytes: int) -> tuple[int, int]:
        """Join small files of each folder to files of about `file_bytes`, in one commit; how many became how many.

        Those that were joined stay for readers of earlier versions of the table, until `VACUUM`.
        """
        if not self._deltalake.DeltaTable.is_deltatable(self._out, self._options):
            return 0, 0
        done = self._table().optimize.compact(target_size=file_bytes)
        return done["numFilesRemoved"], done["numFilesAdded"]

    def _table(self) -> Any:
        return self._deltalake.DeltaTable(self._out, storage_options=self._options)

    def _add_action(self, file: ArchivedFile, now_ms: int) -> Any:
        from deltalake.transaction import AddAction

        stats = {
            "numRecords": file.rows,
            "minValues": {"partition": file.partition, "offset": file.first_offset},
            "maxValues": {"partition": file.partition, "offset": file.last_offset},
            "nullCount": {"partition": 0, "offset": 0},
        }
        return AddAction(file.path, file.size_bytes, dict(file.values), now_ms, True, json.dumps(stats))


def _allow_plain_http(store: Mapping[str, str]) -> dict[str, str]:
    """The options, with leave to speak plain HTTP where an endpoint does."""
    plain = any(value.startswith("http:") for value in store.values())
    return {**store, **({"allow_http": "true"} if plain else {})}
