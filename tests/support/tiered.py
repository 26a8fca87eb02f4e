"""Tiered storage of a few segments, in Kafka's LocalTieredStorage layout and in Aiven's, made from written segments."""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path

import zstandard

TOPIC_ID = "MWJ6FHTfRYy67jzw-deqSQ"
CHUNK_BYTES = 1000


def segment_id(number: int) -> str:
    """A segment id: 22 characters of base64url."""
    return f"{number:-<21}Q"


def checkpoint(epochs: Mapping[int, int]) -> bytes:
    """A leader epoch checkpoint."""
    lines = [f"{epoch} {start}\n" for epoch, start in epochs.items()]
    return f"0\n{len(lines)}\n{''.join(lines)}".encode()


def to_local_tiered(
    log: Path, root: Path, topic: str, number: int, epochs: Mapping[int, int], *, topic_id: str = TOPIC_ID
) -> Path:
    """Upload a segment as Kafka's LocalTieredStorage does; its `.log`."""
    folder = root / f"{topic}-0-{topic_id}"
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{log.stem}-{segment_id(number)}"
    for suffix in (".log", ".index", ".timeindex"):
        source = log.with_suffix(suffix)
        if source.exists():
            (folder / f"{stem}{suffix}").write_bytes(source.read_bytes())
    (folder / f"{stem}.leader_epoch_checkpoint").write_bytes(checkpoint(epochs))
    return folder / f"{stem}.log"


def to_aiven(
    log: Path,
    root: Path,
    topic: str,
    number: int,
    epochs: Mapping[int, int],
    *,
    end_offset: int,
    compressed: bool = True,
    topic_id: str = TOPIC_ID,
) -> Path:
    """Upload a segment as Aiven's plugin does; its manifest. `end_offset` is its last offset."""
    folder = root / f"{topic}-{topic_id}" / "0"
    folder.mkdir(parents=True, exist_ok=True)
    stem = folder / f"{log.stem}-{segment_id(number)}"
    data = log.read_bytes()
    chunks = [data[at : at + CHUNK_BYTES] for at in range(0, len(data), CHUNK_BYTES)]
    if compressed:
        chunks = [zstandard.ZstdCompressor().compress(chunk) for chunk in chunks]
    Path(f"{stem}.log").write_bytes(b"".join(chunks))
    parts = {
        "offset": _read(log.with_suffix(".index")),
        "timestamp": _read(log.with_suffix(".timeindex")),
        "producerSnapshot": b"snapshot",
        "leaderEpoch": checkpoint(epochs),
    }
    Path(f"{stem}.indexes").write_bytes(b"".join(parts.values()))
    indexes, position = {}, 0
    for name, part in parts.items():
        indexes[name] = {"position": position, "size": len(part)}
        position += len(part)
    sizes = [len(chunk) for chunk in chunks]
    index: dict[str, object] = {"originalChunkSize": CHUNK_BYTES, "originalFileSize": len(data)}
    if compressed:
        index |= {"type": "variable", "transformedChunks": packed_sizes(encoded_sizes(sizes))}
    else:
        index |= {"type": "fixed", "transformedChunkSize": CHUNK_BYTES, "finalTransformedChunkSize": sizes[-1]}
    metadata = {"startOffset": int(log.stem), "endOffset": end_offset, "segmentLeaderEpochs": dict(epochs)}
    manifest = {
        "version": "1",
        "chunkIndex": index,
        "segmentIndexes": indexes | {"transaction": None},
        "compression": compressed,
        "remoteLogSegmentMetadata": metadata,
    }
    path = Path(f"{stem}.rsm-manifest")
    path.write_text(json.dumps(manifest))
    return path


def packed_sizes(encoded: bytes) -> str:
    """Encoded sizes as they are in a manifest."""
    return b64encode(zstandard.ZstdCompressor().compress(encoded)).decode()


def encoded_sizes(sizes: Sequence[int]) -> bytes:
    """Sizes of chunks as Aiven's ChunkSizesBinaryCodec writes them."""
    if len(sizes) < 2:
        return b"".join(value.to_bytes(4, "big") for value in (len(sizes), *sizes))
    *middle, last = sizes
    base = min(middle)
    width = max(1, *(-(-(value - base).bit_length() // 8) for value in middle))
    head = len(sizes).to_bytes(4, "big") + base.to_bytes(4, "big") + bytes([width])
    return head + b"".join((value - base).to_bytes(width, "big") for value in middle) + last.to_bytes(4, "big")


def _read(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""
