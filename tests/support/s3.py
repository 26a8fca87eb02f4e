"""An S3 server on 127.0.0.1 for tests: moto's, with answers that come late or fail as often as a test says.

It is a process of its own, as one thread of a test's process would share its lock with what is measured. Objects are
counted by the bytes of their ranges: `GET /-/sent` says how many were sent, `POST /-/objects` puts many at once.
"""

import base64
import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BUCKET = "segments"
KEYS = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "aws_region": "us-east-1"}


class S3Server:
    """The running server. `options` are those of an object store for `PlaceFiles` or, with `store.`, a source."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.options = KEYS | {"aws_endpoint": endpoint}

    @property
    def spark_options(self) -> dict[str, str]:
        return {f"store.{name}": value for name, value in self.options.items()}

    @property
    def job_options(self) -> list[str]:
        """The options of a command line."""
        return [word for name, value in self.options.items() for word in ("--store-option", f"{name}={value}")]

    def sent_bytes(self) -> int:
        """How many bytes of objects were sent so far."""
        with urllib.request.urlopen(f"{self.endpoint}/-/sent") as answer:
            return int(answer.read())

    def put_many(self, objects: Mapping[str, bytes]) -> None:
        """Put objects by their keys, in one request."""
        data = json.dumps({key: base64.b64encode(value).decode() for key, value in objects.items()}).encode()
        urllib.request.urlopen(urllib.request.Request(f"{self.endpoint}/-/objects", data, method="POST")).close()

    def upload(self, folder: Path, prefix: str) -> str:
        """Put a folder's files under the prefix and return its URI."""
        from stepdown.pipeline.places.object_files import ObjectFiles

        root = f"s3://{BUCKET}/{prefix}"
        store = ObjectFiles(root, self.options)
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                store.upload(f"{root}/{file.relative_to(folder)}", str(file))
        return root


@contextmanager
def s3_server(*, failing: float = 0.0, latency_s: float = 0.0, fault: str = "503") -> Iterator[S3Server]:
    """A server with an empty bucket; `failing` is the share of reads that have the fault, one of `FAULTS`."""
    process = subprocess.Popen(
        [sys.executable, __file__, str(failing), str(latency_s), fault],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    try:
        yield S3Server(process.stdout.readline().decode().strip())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _answer_503(environ: dict[str, Any], start_response: Any, _: Any) -> Iterable[bytes]:
    start_response("503 Slow Down", [("Content-Type", "application/xml"), ("Content-Length", "0")])
    return []


def _answer_500(environ: dict[str, Any], start_response: Any, _: Any) -> Iterable[bytes]:
    body = b"<Error><Code>InternalError</Code><Message>We encountered an internal error</Message></Error>"
    start_response("500 Internal Server Error", [("Content-Length", str(len(body)))])
    return [body]


def _reset(environ: dict[str, Any], start_response: Any, _: Any) -> Iterable[bytes]:
    environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
    return _answer_503(environ, start_response, _)


def _cut(environ: dict[str, Any], start_response: Any, application: Any) -> Iterator[bytes]:
    """Half of the body that the head says."""
    body = b"".join(application(environ, start_response))
    yield body[: len(body) // 2]
    environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
    yield body[len(body) // 2 :]


FAULTS: dict[str, Callable[[dict[str, Any], Any, Any], Iterable[bytes]]] = {
    "503": _answer_503,
    "500": _answer_500,
    "reset": _reset,
    "cut": _cut,
}


class _Unreliable:
    """A WSGI application around another one that answers late, and sometimes with a fault."""

    def __init__(self, application: Any, failing: float, latency_s: float, fault: str) -> None:
        self._fail = FAULTS[fault]
        self._application = application
        self._failing = failing
        self._latency_s = latency_s
        self._random = random.Random(1)
        self._sent = 0
        self._lock = threading.Lock()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if environ["PATH_INFO"] == "/-/sent":
            start_response("200 OK", [("Content-Type", "text/plain")])
            return [str(self._sent).encode()]
        if environ["PATH_INFO"] == "/-/objects":
            _put_objects(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
            start_response("204 No Content", [])
            return []
        reads = environ["REQUEST_METHOD"] == "GET"
        if reads and self._latency_s:
            time.sleep(self._latency_s)
        with self._lock:
            fails = reads and self._random.random() < self._failing
        if fails:
            return self._fail(environ, start_response, self._application)
        parts = list(self._application(environ, start_response))
        if reads and "list-type" not in environ["QUERY_STRING"]:
            with self._lock:
                self._sent += sum(map(len, parts))
        return parts


def _put_objects(data: bytes) -> None:
    from moto.core import DEFAULT_ACCOUNT_ID
    from moto.s3.models import s3_backends

    for key, value in json.loads(data).items():
        s3_backends[DEFAULT_ACCOUNT_ID]["aws"].put_object(BUCKET, key, base64.b64decode(value))


def _serve(failing: float, latency_s: float, fault: str) -> None:
    import boto3
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    os.environ.setdefault("MOTO_S3_CUSTOM_ENDPOINTS", "")
    application = _Unreliable(DomainDispatcherApplication(create_backend_app), failing, latency_s, fault)
    server = make_server("127.0.0.1", 0, application, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    endpoint = f"http://127.0.0.1:{server.server_port}"
    boto3.client("s3", endpoint_url=endpoint, **KEYS_OF_BOTO).create_bucket(Bucket=BUCKET)
    print(endpoint, flush=True)
    threading.Event().wait()


KEYS_OF_BOTO = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": "us-east-1"}

if __name__ == "__main__":
    _serve(float(sys.argv[1]), float(sys.argv[2]), sys.argv[3])
