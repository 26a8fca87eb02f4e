"""versitygw: an S3 server that people run over a file system; it answers nobody without the right signature.

It is built by Go when first needed, about five minutes on two cores, and kept in `build/go`.
"""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import obstore
from obstore.store import from_url
from stepdown.bench.servers.ports import free_port

from .clients_go import QUICK_BUILD, go, require_go
from .maven import REPOSITORY_ROOT, build_lock, skip_or_fail
from .object_stores import running_server
from .s3 import BUCKET, KEYS, S3Server

VERSION = "1.8.0"
PROGRAM = REPOSITORY_ROOT / "build" / "go" / f"versitygw-{VERSION}" / "versitygw"


class VersityGateway(S3Server):
    """The running server, which has no door of its own for many objects."""

    def put_many(self, objects: Mapping[str, bytes]) -> None:
        store = from_url(f"s3://{BUCKET}", config=self.options, client_options={"allow_http": True})
        for key, data in objects.items():
            obstore.put(store, key, data)


@contextmanager
def versity_gateway() -> Iterator[VersityGateway]:
    """A server over an empty folder; its buckets are the folders in there."""
    program = _program()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / BUCKET).mkdir()
        keys = ["--access", KEYS["aws_access_key_id"], "--secret", KEYS["aws_secret_access_key"]]
        address = f"127.0.0.1:{free_port()}"
        words = [*keys, "--region", KEYS["aws_region"], "--port", address, "--quiet", "posix", folder]
        with running_server(str(program), words, b"(single account mode)"):  # it listens a moment later
            yield VersityGateway(f"http://{address}")


def _program() -> Path:
    require_go()
    with build_lock("versitygw"):
        if not PROGRAM.exists():
            PROGRAM.parent.mkdir(parents=True, exist_ok=True)
            module = f"github.com/versity/versitygw/cmd/versitygw@v{VERSION}"
            printed = go(["install", *QUICK_BUILD, module], PROGRAM.parent, CGO_ENABLED="0", GOBIN=str(PROGRAM.parent))
            if not PROGRAM.exists():
                skip_or_fail(f"versitygw cannot be built: {printed[-500:]}")
    return PROGRAM
