"""A store that takes requests and never answers, or stops in the middle of an answer, is an error after a limit."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest
from pyspark.errors import PythonException
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StructField, StructType
from stepdown.pipeline.failures import BadUsage, failure_of
from stepdown.pipeline.places.object_files import RETRIES
from stepdown.pipeline.places.place_files import PlaceFiles
from stepdown.pipeline.reading.splits import Split
from stepdown.pipeline.sources.kafka_segments import SegmentsReader
from stepdown.pipeline.sources.options import read_options
from stepdown.pipeline.sources.split_task import SplitPartition
from stepdown.protocol.errors import DiskFault
from support.s3 import BUCKET, KEYS

LIMITS = {"read_timeout": "200ms", "retry_timeout": "400ms"}
OBJECT = f"s3://{BUCKET}/topic-0/{0:020}.log"
SIZE = 1000
HEAD = (
    b"HTTP/1.1 206 Partial Content\r\nContent-Length: 1000\r\nContent-Range: bytes 0-999/1000\r\n"
    b'ETag: "one"\r\nLast-Modified: Sat, 28 Nov 2026 10:00:00 GMT\r\n\r\n'
)
LIST_HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
NOTHING, STOPPED = "there was no answer in time", "the answer stopped before it was whole"
ANSWERS = {
    "nothing": (b"", b"", NOTHING),
    "half of a head": (HEAD[:40], LIST_HEAD[:20], NOTHING),
    "a head": (HEAD, LIST_HEAD, STOPPED),
    "a part of a body": (HEAD + bytes(100), LIST_HEAD + b"<?xml version='1.0'?><List", STOPPED),
}
"""What is sent of an object and of a list before the server stops, and what is said of it."""


class HangingStore:
    """Takes every connection, answers its first request with `answer`, and leaves it open. `requests` counts them."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._connections: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()
        self.requests = 0
        self.options = KEYS | {"aws_endpoint": f"http://127.0.0.1:{self._listener.getsockname()[1]}"} | LIMITS

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()
        for each in self._connections:
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._connections.append(connection)
                self.requests += bool(connection.recv(1 << 16))
                connection.sendall(self._answer)


@contextmanager
def hanging_store(answer: bytes) -> Iterator[HangingStore]:
    store = HangingStore(answer)
    try:
        yield store
    finally:
        store.close()


def failure(act: Callable[[], object]) -> str:
    with pytest.raises(DiskFault) as failed:
        act()
    return str(failed.value)


@pytest.mark.parametrize("what", ANSWERS)
def test_a_list_that_never_comes_is_an_error_on_the_driver(what: str) -> None:
    _, answer, says = ANSWERS[what]
    with hanging_store(answer) as store:
        line = failure(lambda: PlaceFiles(store.options).entries(f"s3://{BUCKET}/logs"))
    assert line.startswith(f"s3://{BUCKET}/logs: ")
    assert says in line
    assert line.endswith("; check the endpoint of the store")
    assert 1 <= store.requests <= 1 + RETRIES


@pytest.mark.parametrize("what", ANSWERS)
def test_bytes_that_never_come_are_an_error_in_a_task(what: str, spark: SparkSession) -> None:
    answer, _, says = ANSWERS[what]
    split = Split(
        topic="topic", partition=0, path=OBJECT, base_offset=0, start=0, end=SIZE, first_offset=0, end_offset=10
    )
    with hanging_store(answer) as store:
        here = failure(lambda: PlaceFiles(store.options).handle(OBJECT, SIZE).read(SIZE, 0))
        given = {f"store.{name}": value for name, value in store.options.items()}
        reader = SegmentsReader(
            read_options({"path": f"s3://{BUCKET}"} | given), StructType([StructField("offset", LongType())])
        )
        task = spark.sparkContext.parallelize([SplitPartition((split,))], 1)
        with pytest.raises(PythonException) as failed:
            task.flatMap(reader.read).collect()
    for line in (here, str(failure_of(failed.value))):
        assert line.startswith(f"{OBJECT}: ")
        assert says in line
        assert line.endswith("; check the endpoint of the store")
    assert store.requests <= 2 * (1 + RETRIES)


@pytest.mark.parametrize("name", ["read_timeout", "retry_timeout"])
def test_a_limit_that_is_no_time_is_refused(name: str) -> None:
    with pytest.raises(BadUsage, match=f"the option {name} of the store is a time like 30s or 2m, not 'soon'"):
        PlaceFiles(KEYS | {name: "soon"}).entries(f"s3://{BUCKET}/logs")


def test_an_option_that_no_store_has_is_refused() -> None:
    """It was passed over."""
    with pytest.raises(BadUsage, match=r"a store has no option read_timeot: is read_timeout meant\?"):
        read_options({"path": f"s3://{BUCKET}", "store.read_timeot": "1s"})
    with pytest.raises(BadUsage, match="a store has no option endpoint: there are allow_http, read_timeout, retry_"):
        read_options({"path": f"s3://{BUCKET}", "store.endpoint": "http://127.0.0.1:9000"})
