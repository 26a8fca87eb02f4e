"""A small log that a real Kafka of each of five releases has written, kept in `tests/vectors/logs`.

`python -m support.logs_of_releases`, in tests/, has Kafka write them anew.
"""

import shutil
import tempfile
from pathlib import Path

from confluent_kafka import Producer

from .deadline import DEADLINE_S
from .kafka import ApacheKafka
from .kafka_4 import ApacheKafka4
from .kafka_old import OldKafka

VECTORS = Path(__file__).parents[1] / "vectors" / "logs"
RELEASES = ("0.10.2.2", "1.1.1", "2.8.2", "3.9.1", "4.4.0")
TOPIC = "topic"
_SETTINGS = {
    "log.roll.ms": "60000",
    "log.index.interval.bytes": "200",
    "log.retention.ms": "-1",
    "log.retention.hours": "-1",
}
_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_BATCHES, _ROLL_AFTER = 14, 4
_START_MS, _HOUR_MS = 1_700_000_000_000, 3_600_000


def unpack_log(release: str, folder: Path) -> None:
    """Write the files of partition 0 to the folder."""
    shutil.unpack_archive(VECTORS / f"{release}.zip", folder)


def _make(folder: Path, release: str) -> Path:
    with _kafka(folder, release) as kafka:
        kafka.create_topic(TOPIC)
        for number in range(_BATCHES):
            codec = _CODECS[number % (len(_CODECS) if release >= "2.1" else 4)]
            _produce(kafka.address, codec, number)
    return kafka.log_dir / f"{TOPIC}-0"


def _kafka(folder: Path, release: str) -> ApacheKafka | OldKafka:
    if release.startswith("4."):
        return ApacheKafka4(folder, release=release, properties=_SETTINGS)
    if release == "3.9.1":
        return ApacheKafka(folder, properties=_SETTINGS)
    return OldKafka(folder, release, properties=_SETTINGS)


def _produce(address: str, codec: str, number: int) -> None:
    """A batch or, at brokers without magic 2, a set of messages. A jump in time begins a new segment."""
    producer = Producer({"bootstrap.servers": address, "acks": "all", "compression.type": codec, "linger.ms": 100})
    time_ms = _START_MS + number // _ROLL_AFTER * _HOUR_MS
    for record in range(1 + number % 7):
        key = b"%d" % record if record % 3 else None
        producer.produce(TOPIC, key=key, value=b"%d " % record * 20, partition=0, timestamp=time_ms + record)
    assert producer.flush(DEADLINE_S) == 0


if __name__ == "__main__":
    for each in RELEASES:
        with tempfile.TemporaryDirectory() as temporary:
            shutil.make_archive(str(VECTORS / each), "zip", _make(Path(temporary), each))
