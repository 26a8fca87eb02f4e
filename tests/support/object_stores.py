"""Object stores on 127.0.0.1, beside moto's S3: Azurite, fake-gcs-server, gofakes3, WebDAV. A test skips without them.

`npm install -g azurite`, `go install github.com/fsouza/fake-gcs-server@latest`; WebDAV is wsgidav's. gofakes3 is for
measurements, where moto would be most of what is measured:
`go install github.com/johannesboyne/gofakes3/cmd/gofakes3@v1.2.0`.
"""

import base64
import hashlib
import hmac
import json
import logging
import re
import shutil
import subprocess
import tempfile
import threading
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from email.utils import formatdate
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest
from stepdown.bench.servers.ports import free_port
from stepdown.pipeline.places.place_files import PlaceFiles

from .s3 import BUCKET, S3Server

CONTAINER = "segments"
_ACCOUNT = "devstoreaccount1"
_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Azurite's own, the same everywhere."""


class Store(NamedTuple):
    """A place in a running server, and the options that reach it; `put` writes an object by its key."""

    root: str
    options: dict[str, str]
    put: Callable[[str, bytes], object]

    def upload(self, folder: Path, prefix: str) -> str:
        """Put a folder's files under the prefix and return its URI."""
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                self.put(f"{prefix}/{file.relative_to(folder)}", file.read_bytes())
        return f"{self.root}/{prefix}"


@contextmanager
def azure_store() -> Iterator[Store]:
    """An empty container of Azurite."""
    words = ["--blobPort", "0", "--inMemoryPersistence", "--skipApiVersionCheck", "--silent", "--disableTelemetry"]
    with running_server("azurite-blob", words, rb"listens on (http://127\.0\.0\.1:\d+)") as address:
        endpoint = f"{address}/{_ACCOUNT}"
        _create_container(endpoint)
        options = {"azure_storage_account_key": _KEY, "azure_storage_endpoint": endpoint}
        root = f"abfss://{CONTAINER}@{_ACCOUNT}.dfs.core.windows.net"
        files = PlaceFiles(options, writable=True)
        yield Store(root, options, lambda key, data: files.replace(f"{root}/{key}", data))


def _create_container(endpoint: str) -> None:
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
    signed = "".join(f"{name}:{value}\n" for name, value in headers.items())
    text = "PUT" + "\n" * 12 + f"{signed}/{_ACCOUNT}/{_ACCOUNT}/{CONTAINER}\nrestype:container"
    digest = base64.b64encode(hmac.digest(base64.b64decode(_KEY), text.encode(), hashlib.sha256)).decode()
    headers |= {"Authorization": f"SharedKey {_ACCOUNT}:{digest}", "Content-Length": "0"}
    asked = urllib.request.Request(f"{endpoint}/{CONTAINER}?restype=container", method="PUT", headers=headers)
    urllib.request.urlopen(asked).close()


@contextmanager
def google_store() -> Iterator[Store]:
    """An empty bucket of fake-gcs-server, which takes objects by the JSON API only, so not from us."""
    port = free_port()  # of port 0 it does not say what it became
    words = ["-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-backend", "memory"]
    words += ["-public-host", f"127.0.0.1:{port}"]
    with running_server("fake-gcs-server", words, rb"server started at (http://127\.0\.0\.1:\d+)") as address:
        _post(f"{address}/storage/v1/b", json.dumps({"name": CONTAINER}).encode(), "application/json")
        key = {"gcs_base_url": address, "disable_oauth": True, "client_email": "", "private_key": ""}
        options = {"google_service_account_key": json.dumps(key | {"private_key_id": ""}), "allow_http": "true"}
        objects = f"{address}/upload/storage/v1/b/{CONTAINER}/o?uploadType=media&name="
        yield Store(f"gs://{CONTAINER}", options, lambda key, data: _post(objects + quote(key, safe=""), data))


def _post(url: str, data: bytes, kind: str = "application/octet-stream") -> None:
    asked = urllib.request.Request(url, data=data, headers={"Content-Type": kind})
    urllib.request.urlopen(asked).close()


@contextmanager
def gofakes3_server() -> Iterator[S3Server]:
    """gofakes3 with an empty bucket in its memory: quicker than moto, and without its counter and its failures."""
    words = ["-backend", "memory", "-initialbucket", BUCKET, "-host", "127.0.0.1:0", "-quiet"]
    with running_server("gofakes3", words, rb"using port: (\d+)") as port:
        yield S3Server(f"http://127.0.0.1:{port}")


@contextmanager
def webdav_store() -> Iterator[Store]:
    """An empty folder as a WebDAV server shows it, only to be read."""
    with tempfile.TemporaryDirectory() as folder, shown_by_webdav(folder) as (address, _):

        def put(key: str, data: bytes) -> None:
            path = Path(folder) / key
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

        yield Store(address, {}, put)


@contextmanager
def shown_by_webdav(folder: str | Path) -> Iterator[tuple[str, Callable[[], int]]]:
    """The address of a server that shows the folder, and how many bytes its answers had so far."""
    from werkzeug.serving import make_server
    from wsgidav.fs_dav_provider import FilesystemProvider
    from wsgidav.wsgidav_app import WsgiDAVApp

    config = {
        "provider_mapping": {"/": FilesystemProvider(str(folder), readonly=True)},
        "simple_dc": {"user_mapping": {"*": True}},
        "logging": {"enable": False},
        "verbose": 0,
    }
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    application = WsgiDAVApp(config)
    sent: list[int] = []

    def counted(environ: dict[str, Any], start_response: Any) -> Iterator[bytes]:
        for part in application(environ, start_response):
            sent.append(len(part))
            yield part

    server = make_server("127.0.0.1", 0, counted, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", lambda: sum(sent)
    finally:
        server.shutdown()
        thread.join()


@contextmanager
def running_server(program: str, words: Sequence[str], says: bytes) -> Iterator[str]:
    """The address that the program says it listens at."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [program, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
        )
        assert process.stdout is not None
        try:
            found = next((found for line in process.stdout if (found := re.search(says, line))), None)
            assert found is not None, f"{program} ended"
            yield found[1].decode()
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
