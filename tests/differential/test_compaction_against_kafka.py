"""The same logs cleaned here and by Kafka 3.9.1's own cleaner: the same is left, to the byte if not compressed."""

import shutil
import struct
from pathlib import Path
from random import Random
from typing import Any

import pytest
from stepdown.protocol.records.batches import Batch, iter_batches
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.layout import Codec
from stepdown.protocol.records.legacy_batch import LegacyBatch
from stepdown.protocol.records.record import Record
from support.clients_raw import Reader, string
from support.compacted_history import RETENTION_MS, History
from support.compaction import clean, limits, part
from support.java_oracle import JavaOracle
from support.kafka import dump_log_segments
from support.logs import NOW, make_log

pytestmark = pytest.mark.java

STEPS = 150
MAP_BYTES = 1 << 16
CONFIG = {
    "cleanup.policy": "compact",
    "segment.bytes": "4000",
    "index.interval.bytes": "200",
    "delete.retention.ms": str(RETENTION_MS),
}
Files = dict[str, bytes]


@pytest.fixture(scope="module")
def oracle(java_oracle: Any) -> JavaOracle:
    found: JavaOracle = java_oracle("compaction")
    return found


def by_kafka(oracle: JavaOracle, folder: Path, now_ms: int, first_dirty: int, end: int) -> tuple[int, Files]:
    """Where the clean part ends, and what is in the log's files."""
    payload = string(str(folder)) + struct.pack(">qqqii", now_ms, first_dirty, end, MAP_BYTES, 1 << 16)
    payload += struct.pack(">h", len(CONFIG)) + b"".join(string(key) + string(text) for key, text in CONFIG.items())
    answer = Reader(oracle.call("CleanLog.run", payload))
    clean_end = answer.take("q")
    return clean_end, {str(answer.string()): answer.blob() or b"" for _ in range(answer.take("i"))}


def by_us(folder: Path, now_ms: int, first_dirty: int) -> tuple[int, Files, int]:
    log = make_log(
        folder,
        cleanup_policy=("compact",),
        segment_bytes=4000,
        index_interval_bytes=200,
        delete_retention_ms=RETENTION_MS,
    )
    log.note_high_watermark(log.log_end_offset)
    end = part(log, first_dirty, now_ms).end
    clean_end = clean(log, first_dirty, now_ms, limits(map_bytes=MAP_BYTES)).clean_end
    log.close()
    files = {file.name: file.read_bytes() for file in sorted(folder.iterdir()) if file.suffix in (".log", ".txnindex")}
    return clean_end, files, end


def shown(batch: Batch) -> object:
    """All of a batch but what depends on the codec's library."""
    if isinstance(batch, LegacyBatch):
        return batch.data if batch.codec is Codec.NONE else list(batch.records())
    if not batch.is_compressed:
        return bytes(batch.data)
    fields = (
        batch.base_offset, batch.last_offset, batch.attributes, batch.base_timestamp, batch.max_timestamp,
        batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.record_count, batch.partition_leader_epoch,
    )  # fmt: skip
    return fields, [(r.offset, r.timestamp, bytes(r.key or b""), r.value and bytes(r.value)) for r in batch.records()]


def compare(ours: Files, theirs: Files) -> None:
    assert ours.keys() == theirs.keys()
    for name, data in theirs.items():
        if name.endswith(".txnindex"):
            assert ours[name] == data, name
        else:
            assert list(map(shown, iter_batches(ours[name]))) == list(map(shown, iter_batches(data))), name


@pytest.mark.parametrize("seed", range(25))
def test_what_is_left_is_what_kafka_leaves(tmp_path: Path, oracle: JavaOracle, seed: int) -> None:
    """Cleaned time and again, as time passes: tombstones and markers get their horizons and go."""
    history = History(tmp_path / "orders-0", seed)
    for _ in range(STEPS):
        actions = (history.write, history.end_transaction, history.log.roll, history.wait)
        history.random.choices(actions, (20, 6, 2, 1))[0]()
    history.log.close()
    source, first_dirty, now_ms = tmp_path / "orders-0", 0, history.clock.now
    for turn in range(4):
        copy = tmp_path / f"turn{turn}" / "orders-0"
        shutil.copytree(source, copy)
        clean_end, ours, end = by_us(source, now_ms, first_dirty)
        their_end, theirs = by_kafka(oracle, copy, now_ms, first_dirty, end)
        assert clean_end == their_end
        compare(ours, theirs)
        now_ms += history.random.choice((RETENTION_MS // 2, RETENTION_MS))


@pytest.mark.parametrize("seed", range(6))
def test_what_is_left_of_old_magics_is_what_kafka_leaves(tmp_path: Path, oracle: JavaOracle, seed: int) -> None:
    noise, folder = Random(seed), tmp_path / "orders-0"
    log = make_log(folder, cleanup_policy=("compact",), segment_bytes=4000, index_interval_bytes=200)
    for _ in range(60):
        magic, codec = noise.choice((0, 1)), noise.choice((Codec.NONE, Codec.NONE, Codec.GZIP, Codec.SNAPPY))
        records = [
            Record(
                offset=log.log_end_offset + number,
                timestamp=NOW + noise.randint(0, 99) if magic else -1,
                key=noise.choice((None, b"a", b"b", b"c", b"d")),
                value=noise.choice((None, b"1", b"2" * 50, b"3" * 500)),
            )
            for number in range(noise.randint(1, 5))
        ]
        log.append_as_follower(build_batch(records, magic=magic, codec=codec))
    log.roll()
    log.close()
    copy = tmp_path / "copy" / "orders-0"
    shutil.copytree(folder, copy)
    clean_end, ours, end = by_us(folder, NOW, 0)
    their_end, theirs = by_kafka(oracle, copy, NOW, 0, end)
    assert clean_end == their_end
    compare(ours, theirs)


def test_kafkas_dump_tool_finds_no_fault_in_a_cleaned_log(tmp_path: Path) -> None:
    history = History(tmp_path / "orders-0", 7)
    for _ in range(300):
        history.step()
    history.clean()
    history.log.close()
    logs = sorted((tmp_path / "orders-0").glob("*.log"))
    indexes = [file for end in ("index", "timeindex") for file in sorted((tmp_path / "orders-0").glob(f"*.{end}"))]
    told = dump_log_segments(logs, "--deep-iteration")
    assert "isvalid: false" not in told
    checked = dump_log_segments(indexes, "--index-sanity-check")
    assert checked.count("passed sanity check") + checked.count("is empty") == len(indexes), checked[-2000:]
    assert "Mismatches" not in dump_log_segments(indexes, "--verify-index-only")
