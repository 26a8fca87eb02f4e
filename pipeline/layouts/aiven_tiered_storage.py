"""The layout of Aiven's RemoteStorageManager (tiered-storage-for-apache-kafka), on any store.

    <root>/<topic>-<topic id>/<partition>/<20 digits of the base offset>-<segment id>
        .log           the segment in chunks, each a zstd frame of its own where `compression` says so
        .indexes       offset index, time index, producer snapshot, leader epochs, transaction index, in one file
        .rsm-manifest  JSON, written last: chunkIndex, segmentIndexes, compression, encryption, remoteLogSegmentMetadata

chunkIndex is `fixed` (all chunks take transformedChunkSize, the last one finalTransformedChunkSize) or `variable`
(transformedChunks: base64 of a count, and then of more than one chunk the smallest size, bytes a value, the sizes above
it, the last size in four bytes). Encrypted segments are refused: their keys are wrapped by a key that is not here.
Source: `ObjectKeyFactory`, `SegmentManifestV1`, `ChunkSizesBinaryCodec` of that project.
"""

import json
import re
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...protocol.errors import DiskFault
from ...storage.files.file_names import OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX
from ...storage.files.files import DirectoryEntry
from ...storage.log.leader_epochs import EpochEntry
from ..failures import PipelineFailure
from ..places.place_files import PlaceFiles
from ..reading.chunked_file import Chunks
from ..reading.segment_file import FilePart, SegmentFile
from .tiered_segment import TieredPartition, TieredSegment, parse_epochs

MANIFEST = ".rsm-manifest"
MAX_MANIFEST_BYTES = 64 << 20

_DIRECTORY = re.compile(r"(?P<topic>[a-zA-Z0-9._-]+)-(?P<topic_id>[A-Za-z0-9_-]{22})")
_SEGMENT = re.compile(r"(?P<base>\d{20})-(?P<segment_id>[A-Za-z0-9_-]{22})\.rsm-manifest")
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
    folders = files.look_at_all(lambda each: files.entries(each[1]), topics, near=path)
    partitions = [
        (name, int(entry.name), f"{directory}/{entry.name}")
        for (name, directory), inside in zip(topics, folders, strict=True)
        for entry in inside
        if entry.is_directory and entry.name.isdecimal()
    ]
    found = files.look_at_all(lambda each: _partition(files, *each), partitions, near=path)
    return [partition for partition in found if partition is not None]


def _partition(files: PlaceFiles, name: re.Match[str], partition: int, directory: str) -> TieredPartition | None:
    entries = files.entries(directory)
    sizes = {entry.name: entry.size_bytes for entry in entries}
    segments = [
        _segment(files, f"{directory}/{entry.name}", int(match["base"]), sizes)
        for entry in entries
        if (match := _SEGMENT.fullmatch(entry.name))
    ]
    if not segments:
        return None
    return TieredPartition(
        topic=name["topic"],
        topic_id=name["topic_id"],
        partition=partition,
        directory=directory,
        segments=tuple(segments),
    )


def _segment(files: PlaceFiles, path: str, base_offset: int, sizes: Mapping[str, int]) -> TieredSegment:
    stem = path.removesuffix(MANIFEST)
    try:
        manifest = json.loads(files.read_whole(path, MAX_MANIFEST_BYTES) or b"")
        return _described(files, manifest, stem, base_offset, sizes)
    except (ValueError, KeyError, TypeError, AttributeError) as fault:
        raise DiskFault(f"{path}: no manifest of version 1: {fault!r}") from fault


def _described(
    files: PlaceFiles, manifest: Mapping[str, Any], stem: str, base_offset: int, sizes: Mapping[str, int]
) -> TieredSegment:
    if str(manifest["version"]) != "1":
        raise ValueError(f"version {manifest['version']}")
    if manifest.get("encryption") is not None:
        raise PipelineFailure(
            f"{stem}.log is encrypted, and its key is wrapped by the cluster's RSA key: let the cluster that wrote it"
            " fetch it, or copy its topics to storage without encryption.enabled"
        )
    chunks = _chunks(manifest["chunkIndex"], compressed=bool(manifest["compression"]))
    stored = sizes.get(f"{stem.rpartition('/')[2]}.log", 0)
    if sum(chunks.stored_bytes) != stored:
        raise DiskFault(f"{stem}.log has {stored} bytes, its manifest says {sum(chunks.stored_bytes)}")
    parts = {
        name: FilePart(path=f"{stem}.indexes", start=int(each["position"]), size_bytes=int(each["size"]))
        for name, each in manifest["segmentIndexes"].items()
        if each is not None
    }
    file = SegmentFile(
        path=f"{stem}.log",
        base_offset=base_offset,
        next_base=None,
        size_bytes=chunks.file_bytes,
        chunks=chunks,
        indexes={suffix: parts[name] for name, suffix in _INDEXES.items() if name in parts},
    )
    metadata = manifest["remoteLogSegmentMetadata"]
    return TieredSegment(
        file=file, end_offset=int(metadata["endOffset"]) + 1, epochs=_epochs(files, metadata, parts[_LEADER_EPOCHS])
    )


def _epochs(files: PlaceFiles, metadata: Mapping[str, Any], part: FilePart) -> tuple[EpochEntry, ...]:
    """All epochs of the log up to the segment's end, those of the manifest where the checkpoint is empty."""
    file = files.handle(part.path, part.start + part.size_bytes)
    try:
        entries = parse_epochs(file.read(part.size_bytes, part.start), part.path)
    finally:
        file.close()
    own = sorted((int(epoch), int(start)) for epoch, start in metadata["segmentLeaderEpochs"].items())
    return entries or tuple(EpochEntry(epoch, start) for epoch, start in own)


def _chunks(index: Mapping[str, Any], *, compressed: bool) -> Chunks:
    """Raises: ValueError, KeyError."""
    original, total = int(index["originalChunkSize"]), int(index["originalFileSize"])
    if original <= 0 or total < 0:
        raise ValueError(f"chunks of {original} bytes of {total}")
    count = -(-total // original)
    if index["type"] == "fixed":
        sizes = (int(index["transformedChunkSize"]),) * (count - 1) + (int(index["finalTransformedChunkSize"]),)
        sizes = sizes[:count] if count else ()
    elif index["type"] == "variable":
        sizes = chunk_sizes(b64decode(index["transformedChunks"]))
    else:
        raise ValueError(f"a chunk index of type {index['type']}")
    if len(sizes) != count:
        raise ValueError(f"{len(sizes)} chunks for {total} bytes in chunks of {original}")
    return Chunks(original_bytes=original, file_bytes=total, stored_bytes=sizes, compressed=compressed)


def chunk_sizes(data: bytes) -> tuple[int, ...]:
    """The sizes of a `variable` chunk index. Raises: ValueError."""
    count = int.from_bytes(data[:4], "big")
    if count < 2:
        return (int.from_bytes(data[4:8], "big"),) if count else ()
    base, width = int.from_bytes(data[4:8], "big"), data[8] if len(data) > 8 else 0
    if len(data) != 9 + (count - 1) * width + 4:
        raise ValueError(f"{len(data)} bytes for the sizes of {count} chunks")
    middle = (base + int.from_bytes(data[at : at + width], "big") for at in range(9, len(data) - 4, max(width, 1)))
    return (*(middle if width else (base,) * (count - 1)), int.from_bytes(data[-4:], "big"))
