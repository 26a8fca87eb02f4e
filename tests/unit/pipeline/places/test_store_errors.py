"""What is wrong with a store or the way to it is a sentence that says what to look at, on the driver and in tasks."""

import re
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PythonException
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StructField, StructType
from stepdown.bench.servers.ports import free_port
from stepdown.pipeline.failures import failure_of
from stepdown.pipeline.places import object_files
from stepdown.pipeline.places.place_files import PlaceFiles
from stepdown.pipeline.places.store_errors import store_errors_as_disk_faults
from stepdown.pipeline.reading.splits import Split
from stepdown.pipeline.sources.kafka_segments import SegmentsReader
from stepdown.pipeline.sources.options import read_options
from stepdown.pipeline.sources.split_task import SplitPartition
from stepdown.protocol.errors import DiskFault
from support.certificates import Authority
from support.s3 import BUCKET, KEYS

REFUSALS = {
    "credentials": (403, "InvalidAccessKeyId", "set credentials by options of the store or the environment"),
    "a user": (404, "XAdminUserNotFound", "set credentials by options of the store or the environment"),
    "a signature": (403, "SignatureDoesNotMatch", "set credentials by options of the store or the environment"),
    "a region": (400, "AuthorizationHeaderMalformed", "set the bucket's region by an option of the store (aws_region)"),
    "a redirect": (301, "PermanentRedirect", "the bucket is in another region; set the bucket's region"),
    "a bucket": (404, "NoSuchBucket", "check the name of the bucket, and the endpoint"),
}


@pytest.fixture(autouse=True)
def no_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_files, "RETRIES", 0)


@contextmanager
def store(status: int, code: str, context: ssl.SSLContext | None = None) -> Iterator[int]:
    """The port of a store all of whose answers are this one."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>Said</Message></Error>".encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """A handshake that the client gives up."""

    server = Server(("127.0.0.1", 0), Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def failure(endpoint: str) -> str:
    """What the driver says, which has to be what is said of a task."""
    with pytest.raises(DiskFault) as failed:
        PlaceFiles(KEYS | {"aws_endpoint": endpoint}).entries(f"s3://{BUCKET}/logs")
    line = str(failed.value)
    quoted = f"Job aborted\nTraceback (most recent call last):\nstepdown.protocol.errors.DiskFault: {line}\n\n\tat x"
    of_task = failure_of(Py4JError(quoted))
    assert of_task is not None and str(of_task) == line
    assert "\n" not in line and "Generic" not in line
    return line


@pytest.mark.parametrize("what", REFUSALS)
def test_a_refusal_is_a_sentence(what: str) -> None:
    status, code, advice = REFUSALS[what]
    with store(status, code) as port:
        line = failure(f"http://127.0.0.1:{port}")
    assert line.startswith(f"s3://{BUCKET}/logs: GET http://127.0.0.1:{port}/{BUCKET}: ")
    assert advice in line


def test_a_refusal_in_a_task_is_the_same_sentence(spark: SparkSession) -> None:
    """It was the first line of Spark's error, with the sentence at its end."""
    path = f"s3://{BUCKET}/topic-0/{0:020}.log"
    split = Split(topic="topic", partition=0, path=path, base_offset=0, start=0, end=100, first_offset=0, end_offset=10)
    with store(403, "InvalidAccessKeyId") as port:
        given = KEYS | {"aws_endpoint": f"http://127.0.0.1:{port}"}
        options = read_options({"path": f"s3://{BUCKET}"} | {f"store.{name}": value for name, value in given.items()})
        reader = SegmentsReader(options, StructType([StructField("offset", LongType())]))
        task = spark.sparkContext.parallelize([SplitPartition((split,))], 1)
        with pytest.raises(PythonException) as failed:
            task.flatMap(reader.read).collect()
    line = str(failure_of(failed.value))
    assert line.startswith(f"{path}: GET http://127.0.0.1:{port}/{BUCKET}/topic-0/")
    assert line.endswith("; set credentials by options of the store or the environment")


def test_an_endpoint_that_is_none_is_told() -> None:
    assert failure(f"http://127.0.0.1:{free_port()}").endswith("nothing listens there; check the endpoint of the store")
    assert failure("http://none.invalid").endswith("there is no such host; check the endpoint of the store")


def test_tls_on_the_wrong_side_is_told() -> None:
    with store(404, "NoSuchBucket") as port:
        line = failure(f"https://127.0.0.1:{port}")
    assert line.endswith("the server does not speak TLS; check the endpoint of the store: http:// may be meant")


def test_a_certificate_that_is_not_trusted_is_told(tmp_path: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Authority(tmp_path).issue("store"))
    with store(404, "NoSuchBucket", context) as port:
        line = failure(f"https://127.0.0.1:{port}")
        plain = failure(f"http://127.0.0.1:{port}")
    assert "is of no authority that is trusted here; SSL_CERT_FILE names a file of authorities" in line
    assert plain.endswith("the connection was cut; check the endpoint of the store: https:// may be meant")


@pytest.mark.parametrize("path", [f"s3://{BUCKET}/a//b", f"s3://{BUCKET}/a/../b"])
def test_a_key_that_cannot_be_is_told(path: str) -> None:
    """It was a ValueError of the library, with its traceback."""
    with pytest.raises(DiskFault, match=re.escape(f"{path}: Could not parse path")):
        PlaceFiles(KEYS | {"aws_endpoint": "http://127.0.0.1:1"}).entries(path)


def test_a_panic_of_the_library_is_told() -> None:
    panic = type("PanicException", (BaseException,), {})
    with (
        pytest.raises(DiskFault, match="s3://b/x: the library of object stores failed: no URL"),
        store_errors_as_disk_faults("s3://b/x"),
    ):
        raise panic("no URL")
    with pytest.raises(KeyboardInterrupt), store_errors_as_disk_faults("s3://b/x"):
        raise KeyboardInterrupt
