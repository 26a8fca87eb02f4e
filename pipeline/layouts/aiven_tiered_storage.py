"""The layout of Aiven's RemoteStorageManager (tiered-storage-for-apache-kafka), on any store.

    <root>/<topic>-<topic id>/<partition>/<20 digits of the base offset>-<segment id>
        .log           the segment in chunks, each a zstd frame of its own where `compression` says so
        .indexes       offset index, time index, producer snapshot, leader epochs, transaction index, in one file
        .rsm-manifest  JSON, written last: chunkIndex, segmentIndexes, compression, encryption, remoteLogSegmentMetadata

chunkIndex is `fixed` (all chunks take transformedChunkSize, the last one finalTransformedChunkSize) or `variable`
(transformedChunks: base64 of a zstd frame of a count, and then of more than one chunk the smallest size, bytes a value,
the sizes above it, the last size in four bytes). Encrypted segments are refused: their keys are wrapped by a key that
is not here.
Source: `ObjectKeyFactory`, `SegmentManifestV1`, `ChunkSizesBinaryCodec` of that project.
"""

import json
import re
from base64 import b64decode
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from ...protocol.errors import CorruptRecord, DiskFault
from ...storage.files.file_names import LOG, OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX
from ...storage.files.files import DirectoryEntry
from ...storage.log.leader_epochs import EpochEntry
from ..failures import PipelineFailure
from ..places.place_files import PlaceFiles
from ..reading.compressed_chunks import ChunkLayout, decompress_zstd_chunk
from ..reading.segment_location import FilePart, SegmentFile
from .tiered_segment import TieredPartition, TieredSegment, parse_epochs

MANIFEST = ".rsm-manifest"
INDEXES = ".indexes"
MAX_MANIFEST_BYTES = 64 << 20
MAX_CHUNKS = 1 << 22
"""A segment of 4 GiB in chunks of 1 KiB."""
MAX_SIZES_BYTES = 10 << 20  # as the plugin

_DIRECTORY = re.compile(r"(?P<topic>[a-zA-Z0-9._-]+)-(?P<topic_id>[A-Za-z0-9_-]{22})")
_PARTITION = re.compile(r"[0-9]{1,10}")
_SEGMENT = re.compile(r"(?P<base>[0-9]{20})-(?P<segment_id>[A-Za-z0-9_-]{22})\.rsm-manifest")
_INDEXES = {"offset": OFFSET_INDEX, "timestamp": TIME_INDEX, "transaction": TRANSACTION_INDEX}
_LEADER_EPOCHS = "leaderEpoch"


def partitions_of_storage(
    files: PlaceFiles, path: str, entries: Sequence[DirectoryEntry], wanted: Callable[[str], bool]
) -> list[TieredPartition]:
    """The partitions of the wanted topics, with all uploaded segments; none where `path` holds no such layout.

    Raises: DiskFault; PipelineFailure for encrypted segments.
    """
    topics = [
        (name, f"{path}/{entry.name}")
        for entry in entries
        if entry.is_directory and (name := _DIRECTORY.fullmatch(entry.name)) and wanted(name["topic"])
    ]
    folders = files.map_items(lambda each: files.entries(each[1]), topics, near=path)
    partitions = [
        (name, int(entry.name), f"{directory}/{entry.name}")
        for (name, directory), inside in zip(topics, folders, strict=True)
        for entry in inside
        if entry.is_directory and _PARTITION.fullmatch(entry.name)
    ]
    found = files.map_items(lambda each: files.entries(each[2]), partitions, near=path)
    uploads = [_find_uploads(directory, inside) for (_, _, directory), inside in zip(partitions, found, strict=True)]
    segments = files.map_groups(lambda each: _read_segment(files, each), uploads, near=path)
    return [
        TieredPartition(
            topic=name["topic"],
            topic_id=name["topic_id"],
            partition=partition,
            directory=directory,
            segments=those,
        )
        for (name, partition, directory), those in zip(partitions, segments, strict=True)
        if those
    ]


class _AivenUpload(NamedTuple):
    """The files of an uploaded segment, `stem` and a suffix; how large those beside the manifest are, and which version
    the `.log` is.
    """

    stem: str
    base_offset: int
    log_bytes: int
    indexes_bytes: int
    version: Hashable


def _find_uploads(directory: str, entries: Sequence[DirectoryEntry]) -> list[_AivenUpload]:
    by_name = {entry.name: entry for entry in entries}
    missing = DirectoryEntry("", False, 0)
    found = []
    for entry in entries:
        if match := _SEGMENT.fullmatch(entry.name):
            stem = entry.name.removesuffix(MANIFEST)
            log, indexes = (by_name.get(f"{stem}{suffix}", missing) for suffix in (LOG, INDEXES))
            found.append(
                _AivenUpload(f"{directory}/{stem}", int(match["base"]), log.size_bytes, indexes.size_bytes, log.version)
            )
    return found


def _read_segment(files: PlaceFiles, upload: _AivenUpload) -> TieredSegment:
    path = upload.stem + MANIFEST
    try:
        manifest = json.loads(files.read_whole(path, MAX_MANIFEST_BYTES) or b"")
        return _parse_manifest(files, manifest, upload)
    except (ValueError, KeyError, TypeError, AttributeError, CorruptRecord) as fault:
        raise DiskFault(f"{path}: no manifest of version 1: {fault!r}") from fault


def _parse_manifest(files: PlaceFiles, manifest: Mapping[str, Any], upload: _AivenUpload) -> TieredSegment:
    stem = upload.stem
    if str(manifest["version"]) != "1":
        raise ValueError(f"version {manifest['version']}")
    if manifest.get("encryption") is not None:
        raise PipelineFailure(
            f"{stem}.log is encrypted, and its key is wrapped by the cluster's RSA key: let the cluster that wrote it"
            " fetch it, or copy its topics to storage without encryption.enabled"
        )
    chunks = _parse_chunk_index(manifest["chunkIndex"], compressed=bool(manifest["compression"]))
    if sum(chunks.stored_bytes) != upload.log_bytes:
        raise DiskFault(f"{stem}.log has {upload.log_bytes} bytes, its manifest says {sum(chunks.stored_bytes)}")
    parts = {
        name: _parse_index_part(each, upload) for name, each in manifest["segmentIndexes"].items() if each is not None
    }
    file = SegmentFile(
        path=f"{stem}.log",
        base_offset=upload.base_offset,
        next_base=None,
        size_bytes=chunks.file_bytes,
        chunks=chunks,
        version=upload.version,
        indexes={suffix: parts[name] for name, suffix in _INDEXES.items() if name in parts},
    )
    metadata = manifest["remoteLogSegmentMetadata"]
    end_offset = int(metadata["endOffset"]) + 1
    if end_offset <= upload.base_offset:
        raise ValueError(f"an end offset of {end_offset - 1}, before the first")
    return TieredSegment(file=file, end_offset=end_offset, epochs=_read_epochs(files, metadata, parts[_LEADER_EPOCHS]))


def _parse_index_part(index: Mapping[str, Any], upload: _AivenUpload) -> FilePart:
    start, size = int(index["position"]), int(index["size"])
    if start < 0 or size < 0 or start + size > upload.indexes_bytes:
        raise ValueError(f"an index at {start} of {size} bytes in {upload.indexes_bytes}")
    return FilePart(path=upload.stem + INDEXES, start=start, size_bytes=size)


def _read_epochs(files: PlaceFiles, metadata: Mapping[str, Any], part: FilePart) -> tuple[EpochEntry, ...]:
    """All epochs of the log up to the segment's end, those of the manifest where the checkpoint is empty."""
    file = files.handle(part.path, part.start + part.size_bytes)
    try:
        entries = parse_epochs(file.read(part.size_bytes, part.start), part.path)
    finally:
        file.close()
    own = sorted((int(epoch), int(start)) for epoch, start in metadata["segmentLeaderEpochs"].items())
    return entries or tuple(EpochEntry(epoch, start) for epoch, start in own)


def _parse_chunk_index(index: Mapping[str, Any], *, compressed: bool) -> ChunkLayout:
    """Raises: ValueError, KeyError."""
    original, total = int(index["originalChunkSize"]), int(index["originalFileSize"])
    if original <= 0 or total < 0:
        raise ValueError(f"chunks of {original} bytes of {total}")
    count = -(-total // original)
    if count > MAX_CHUNKS:
        raise ValueError(f"{count} chunks, more than {MAX_CHUNKS}")
    if index["type"] == "fixed":
        sizes = (int(index["transformedChunkSize"]),) * (count - 1) + (int(index["finalTransformedChunkSize"]),)
        sizes = sizes[:count] if count else ()
    elif index["type"] == "variable":
        sizes = parse_chunk_sizes(
            decompress_zstd_chunk(b64decode(index["transformedChunks"]), MAX_SIZES_BYTES, "transformedChunks")
        )
    else:
        raise ValueError(f"a chunk index of type {index['type']}")
    if len(sizes) != count:
        raise ValueError(f"{len(sizes)} chunks for {total} bytes in chunks of {original}")
    return ChunkLayout(original_bytes=original, file_bytes=total, stored_bytes=sizes, compressed=compressed)


def parse_chunk_sizes(data: bytes) -> tuple[int, ...]:
    """The sizes of a `variable` chunk index. Raises: ValueError."""
    count = int.from_bytes(data[:4], "big")
    if count > MAX_CHUNKS:
        raise ValueError(f"{count} chunks, more than {MAX_CHUNKS}")
    if count < 2:
        return (int.from_bytes(data[4:8], "big"),) if count else ()
    base, width = int.from_bytes(data[4:8], "big"), data[8] if len(data) > 8 else 0
    if len(data) != 9 + (count - 1) * width + 4:
        raise ValueError(f"{len(data)} bytes for the sizes of {count} chunks")
    middle = (base + int.from_bytes(data[at : at + width], "big") for at in range(9, len(data) - 4, max(width, 1)))
    return (*(middle if width else (base,) * (count - 1)), int.from_bytes(data[-4:], "big"))
