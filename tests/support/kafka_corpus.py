"""A log directory that Kafka 3.9.1 wrote, with everything in it that a fetch may meet.

| topic | what is in it |
|---|---|
| codec-none … codec-zstd | batches of one to many records, 0 bytes to 40 kB, nulls and headers, many chunks |
| large-none, large-lz4 | a record of 900 kB between small ones |
| segments | many segments of 20 kB |
| compacted-none, compacted-gzip | gaps, emptied batches and tombstones with delete horizons that the cleaner left |
| append-time-none, append-time-gzip | LogAppendTime |
| transactions | two transactional producers across each other, commits and aborts, a marker at the end |
| mixed | another codec in each batch, zstd among them |
| many | 12 partitions |
| empty | nothing |
| zstd-topic | compression.type=zstd |
| refused | message.downconversion.enable=false |
| corrupt | three batches; a bit of the second one's value is flipped |
| legacy-0, legacy-1 | magic 0 and magic 1 with each codec, as old brokers left them |
| legacy-mixed | magic 0, then 1, then what a modern producer appended |

It is made once per version of this file and kept under `build/java/`; tests work on copies.
"""

import hashlib
import random
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from .clients import Message
from .clients_java import JAVA_3_9, properties, record
from .clients_raw import string, wait_until
from .kafka import ApacheKafka
from .kafka_sets import CODECS, Batch, Row, build_sets
from .maven import BUILD, build_lock, require_java
from .samples import BASE_TIMESTAMP_MS

LEGACY_CODECS = CODECS[:4]
TOPIC_CONFIGS: dict[str, dict[str, str]] = {
    **{f"codec-{codec}": {} for codec in CODECS},
    "large-none": {},
    "large-lz4": {},
    "segments": {"segment.bytes": "20000", "segment.index.bytes": "4096"},
    **{
        f"compacted-{codec}": {
            "cleanup.policy": "compact",
            "segment.bytes": "8000",
            "segment.index.bytes": "4096",
            "min.cleanable.dirty.ratio": "0.01",
            "file.delete.delay.ms": "0",
        }
        for codec in ("none", "gzip")
    },
    **{f"append-time-{codec}": {"message.timestamp.type": "LogAppendTime"} for codec in ("none", "gzip")},
    "transactions": {},
    "mixed": {},
    "many": {},
    "empty": {},
    "zstd-topic": {"compression.type": "zstd"},
    "refused": {"message.downconversion.enable": "false"},
    "corrupt": {},
    "legacy-0": {},
    "legacy-1": {},
    "legacy-mixed": {},
}
PARTITIONS = {"many": 12}
CORRUPT_VALUE = b"to be flipped"


def corpus() -> Path:
    """Return the folder of a stopped Kafka with the corpus; not to be changed. `data/` in it is the log directory."""
    require_java()
    sources = b"".join(Path(__file__).with_name(name).read_bytes() for name in ("kafka_corpus.py", "kafka_sets.py"))
    kept = BUILD / f"corpus-3.9.1-{hashlib.sha256(sources).hexdigest()[:16]}"
    with build_lock("corpus"):
        if not kept.exists():
            BUILD.mkdir(parents=True, exist_ok=True)
            folder = Path(tempfile.mkdtemp(dir=BUILD))
            try:
                _make(folder)
                folder.rename(kept)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
    return kept


def copy_of_corpus(folder: Path) -> Path:
    """Return `folder` with a copy of the corpus in it, file times kept."""
    return shutil.copytree(corpus(), folder, dirs_exist_ok=True)


def _make(folder: Path) -> None:
    with ApacheKafka(folder) as kafka:
        for topic, configs in TOPIC_CONFIGS.items():
            kafka.create_topic(topic, partitions=PARTITIONS.get(topic, 1), configs=configs)
        _write(kafka.address)
        checkpoint = kafka.log_dir / "cleaner-offset-checkpoint"
        wait_until(lambda: checkpoint.exists() and checkpoint.read_text().count("compacted-") == 2, "logs are cleaned")
    for topic, data in _legacy_logs().items():
        partition = kafka.log_dir / f"{topic}-0"
        for file in partition.glob("0*"):
            file.unlink()
        (partition / f"{0:020}.log").write_bytes(data)
    with ApacheKafka(folder) as kafka:
        script = Script(kafka.address)
        script.open("modern")
        script.batches("modern", "legacy-mixed", _batches(random.Random(77), 5))
        script.run()
    _flip_a_bit(folder / "data" / "corrupt-0" / f"{0:020}.log")


def _write(address: str) -> None:
    noise = random.Random(20180730)
    script = Script(address)
    for codec in CODECS:
        script.open(codec, {"compression.type": codec})
        script.batches(codec, f"codec-{codec}", _batches(noise, 40))
    for codec in ("none", "lz4"):
        large = Message(key=b"large", value=noise.randbytes(900_000), timestamp_ms=BASE_TIMESTAMP_MS)
        script.batches(codec, f"large-{codec}", [*_batches(noise, 3), [large], *_batches(noise, 3)])
    script.batches("none", "segments", _small_batches(noise, 100))
    for codec in ("none", "gzip"):
        script.batches(codec, f"compacted-{codec}", _keyed_batches(noise, 120))
        script.batches(codec, f"append-time-{codec}", _batches(noise, 8))
    for index, batch in enumerate(_batches(noise, 25)):
        script.batches(CODECS[index % len(CODECS)], "mixed", [batch])
    for partition in range(PARTITIONS["many"]):
        script.batches("none", "many", _small_batches(noise, 5 + partition), partition)
    script.batches("zstd", "zstd-topic", _batches(noise, 2))
    script.batches("none", "refused", _batches(noise, 2))
    values = (b"good", CORRUPT_VALUE, b"good again")
    script.batches("none", "corrupt", [[Message(key=None, value=value, timestamp_ms=1)] for value in values])
    _transactions(script, noise)
    script.run()


def _transactions(script: "Script", noise: random.Random) -> None:
    """Two producers across each other: data, commits, aborts, markers one after the other, and a marker at the end."""
    topic = "transactions"
    script.open("t1", {"transactional.id": "t1"})
    script.open("t2", {"transactional.id": "t2", "compression.type": "snappy"})
    for end_1, end_2 in (("commit", "commit"), ("abort", "commit"), ("commit", "abort"), ("abort", "abort")):
        script.step("begin", "t1")
        script.batches("t1", topic, _small_batches(noise, 2))
        script.step("begin", "t2")
        script.batches("t2", topic, _small_batches(noise, 2))
        script.batches("t1", topic, _small_batches(noise, 1))
        script.step(end_1, "t1")
        script.batches("t2", topic, _small_batches(noise, 1))
        script.batches("none", topic, _small_batches(noise, 1))
        script.step(end_2, "t2")


def _flip_a_bit(log: Path) -> None:
    data = bytearray(log.read_bytes())
    data[data.index(CORRUPT_VALUE)] ^= 1
    log.write_bytes(data)


class Script:
    """Steps of several producers of Kafka 3.9.1's client, run in order by `run`."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._steps = bytearray()

    def step(self, action: str, producer: str, argument: bytes = b"") -> None:
        self._steps += string(action) + string(producer) + argument

    def open(self, producer: str, settings: dict[str, str] | None = None) -> None:
        """Start a producer that sends nothing before it is flushed."""
        common = {
            "bootstrap.servers": self._address,
            "client.id": producer,
            "linger.ms": "60000",
            "batch.size": "1000000",
            "max.request.size": "4000000",
        }
        self.step("open", producer, properties(common | (settings or {})))

    def batches(self, producer: str, topic: str, batches: Iterable[list[Message]], partition: int = 0) -> None:
        """Send each list as one batch."""
        for batch in batches:
            for message in batch:
                self.step("send", producer, record(topic, partition, message))
            self.step("flush", producer)

    def run(self) -> None:
        JAVA_3_9.oracle.call("Script.run", bytes(self._steps))


def _batches(noise: random.Random, count: int) -> list[list[Message]]:
    return [[_message(noise) for _ in range(noise.choice((1, 1, 2, 5, 20)))] for _ in range(count)]


def _small_batches(noise: random.Random, count: int) -> list[list[Message]]:
    return [[_message(noise, largest=500) for _ in range(noise.randint(1, 6))] for _ in range(count)]


def _keyed_batches(noise: random.Random, count: int) -> list[list[Message]]:
    """Return batches over few keys, so that whole batches are outlived; some are tombstones."""

    def keyed() -> Message:
        value = None if noise.random() < 0.1 else noise.randbytes(noise.randint(0, 200))
        return Message(key=b"key-%d" % noise.randint(0, 40), value=value, timestamp_ms=_time(noise))

    return [[keyed() for _ in range(noise.randint(1, 8))] for _ in range(count)]


def _message(noise: random.Random, *, largest: int = 40_000) -> Message:
    size = min(noise.choice((0, 1, 10, 100, 100, 1000, 1000, 5000, largest)), largest)
    text = noise.randbytes(size // 2) + b"compressible " * (size // 26)
    return Message(
        key=noise.choice((None, b"", b"k", noise.randbytes(20))),
        value=noise.choice((text, text, text, text, text, None)),
        headers=tuple((f"h{i}", noise.choice((None, b"", b"v" * i))) for i in range(noise.choice((0, 0, 1, 3)))),
        timestamp_ms=_time(noise),
    )


def _time(noise: random.Random) -> int:
    return BASE_TIMESTAMP_MS + noise.randint(0, 1_000_000)


def _legacy_logs() -> dict[str, bytes]:
    noise = random.Random(82)
    mixed, end = _legacy_batches(noise, 0, 0)
    newer, _ = _legacy_batches(noise, 1, end)
    return {
        "legacy-0": build_sets(_legacy_batches(noise, 0, 0)[0]),
        "legacy-1": build_sets(_legacy_batches(noise, 1, 0)[0]),
        "legacy-mixed": build_sets([*mixed, *newer]),
    }


def _legacy_batches(noise: random.Random, magic: int, offset: int) -> tuple[list[Batch], int]:
    """Return plain messages and wrappers of every codec, some with gaps; and the end offset."""
    batches = []
    for index in range(60):
        codec = LEGACY_CODECS[index % len(LEGACY_CODECS)]
        rows: list[Row] = []
        for _ in range(noise.randint(1, 8)):
            one = _message(noise, largest=3000)
            rows.append((offset, _time(noise) if magic else -1, one.key, one.value))
            offset += noise.choice((1, 1, 1, 1, 4))
        by_broker = BASE_TIMESTAMP_MS + index if magic and index % 5 == 4 else None
        batches.append(Batch(magic=magic, codec=codec, append_time_ms=by_broker, rows=rows))
    return batches, offset
