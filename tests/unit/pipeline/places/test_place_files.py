"""Places by URI: what an S3 server holds is read and written as a folder is."""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from obstore.exceptions import GenericError
from stepdown.pipeline.convert.job import plan_tasks
from stepdown.pipeline.convert.segment_conversion import convert_segment
from stepdown.pipeline.failures import BadUsage
from stepdown.pipeline.job_source import Source
from stepdown.pipeline.layouts.partition_logs import find_partition_logs
from stepdown.pipeline.places import object_files
from stepdown.pipeline.places.credentials import environment_options
from stepdown.pipeline.places.place_files import PlaceFiles, normalize
from stepdown.pipeline.places.store_errors import store_errors_as_disk_faults
from stepdown.pipeline.reading.splits import OffsetsToRead
from stepdown.protocol.errors import DiskFault
from support.log_directories import keyed_records, write_batches, write_topic
from support.planned_rows import offsets_of
from support.s3 import BUCKET, KEYS, S3Server, s3_server


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with s3_server(failing=0.1) as running:
        yield running


def test_a_log_directory_in_a_bucket_is_read_over_answers_that_fail(server: S3Server, tmp_path: Path) -> None:
    write_topic(tmp_path, "topic", partitions=2, segments=3)
    root = server.upload(tmp_path, "logs")
    local, remote = PlaceFiles(), PlaceFiles(server.options)
    wanted = OffsetsToRead(first=33, end=90)
    assert (
        offsets_of(remote, root, wanted, split_bytes=4000)
        == offsets_of(local, str(tmp_path), wanted, split_bytes=4000)
        == list(range(33, 90)) * 2
    )


def test_few_offsets_fetch_few_bytes(server: S3Server, tmp_path: Path) -> None:
    batches = [keyed_records(at * 10, 10, value_bytes=2000) for at in range(200)]
    write_batches(tmp_path, "topic", 0, batches)
    root = server.upload(tmp_path, "large")
    before = server.sent_bytes()
    wanted = OffsetsToRead(first=905, end=916)
    assert offsets_of(PlaceFiles(server.options), root, wanted, split_bytes=4000) == list(range(905, 916))
    assert server.sent_bytes() - before < 100_000  # of 4 MB


def test_a_conversion_goes_into_a_bucket(server: S3Server, tmp_path: Path) -> None:
    write_topic(tmp_path / "in", "topic")
    root, out = server.upload(tmp_path / "in", "in"), f"s3://{BUCKET}/out"
    files = PlaceFiles(server.options, writable=True)
    for to in (out, str(tmp_path / "out")):
        for task in plan_tasks(files, Source(path=root, store=server.options), to, 1, None):
            convert_segment(task)
    for name in ("00000000000000000000.log", "00000000000000000040.log", "00000000000000000000.index"):
        converted = files.read_whole(f"{out}/topic-0/{name}", 1 << 20)
        assert converted == (tmp_path / "out" / "topic-0" / name).read_bytes()


@pytest.mark.parametrize("allowed", ["true", "TRUE", "false"])
def test_http_may_be_allowed_by_the_environment(
    server: S3Server, allowed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AWS_ALLOW_HTTP ended in a panic of the library."""
    monkeypatch.setenv("AWS_ALLOW_HTTP", allowed)
    options = environment_options("s3", server.options)
    assert options["aws_allow_http"] == allowed
    assert not PlaceFiles(options).is_directory(f"s3://{BUCKET}/missing")


@pytest.mark.parametrize("endpoint", ["127.0.0.1:9000", "not a URL", "http://", ""])
def test_an_endpoint_that_is_no_url_is_refused(endpoint: str) -> None:
    """It ended in a panic of the library."""
    files = PlaceFiles({"aws_endpoint": endpoint})
    with pytest.raises(
        BadUsage, match=re.escape(f"aws_endpoint is a URL like http://127.0.0.1:9000, not {endpoint!r}")
    ):
        files.entries("s3://bucket/logs")


def test_what_is_not_there_is_told(server: S3Server) -> None:
    files = PlaceFiles(server.options)
    missing = f"s3://{BUCKET}/missing"
    assert files.read_whole(missing, 10) is None
    assert not files.exists(missing)
    assert not files.is_directory(missing)
    with pytest.raises(DiskFault, match="no such object"):
        files.handle(missing).read(10, 0)
    with pytest.raises(BadUsage, match="no such log directory"):
        find_partition_logs(files, missing)


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (
            "Generic S3 error: Error performing PUT http://169.254.169.254/latest/api/token in 1.4ms - HTTP error:"
            " error sending request\n\nDebug source:\n<Code>",
            "no credentials: none in options of the store, environment or profile, and no role"
            " (PUT http://169.254.169.254/latest/api/token)",
        ),
        (
            "Generic S3 error: Error performing GET http://host/gone?prefix=x in 1ms - Server returned non-2xx status"
            ' code: 404 Not Found: <?xml version="1.0"?>\n<Error><Code>NoSuchBucket</Code>\n<Message>The bucket is'
            " not there</Message></Error>\n\nDebug source:\n",
            "GET http://host/gone: Server returned non-2xx status code: 404 Not Found: NoSuchBucket, The bucket is"
            " not there; check the name of the bucket, and the endpoint",
        ),
    ],
)
def test_of_long_answers_what_counts_is_told(said: str, line: str) -> None:
    """Without credentials it was the answer of the metadata service, of a bucket that is not there a line of XML."""
    with pytest.raises(DiskFault, match=re.escape(f"s3://b/x: {line}") + "$"), store_errors_as_disk_faults("s3://b/x"):
        raise GenericError(said)


@pytest.fixture
def answering() -> Iterator[Callable[[int], dict[str, str]]]:
    """The options of a store whose answers all have this status."""
    with ExitStack() as ends:

        def start(status: int) -> dict[str, str]:
            class Handler(BaseHTTPRequestHandler):
                def do_GET(self) -> None:
                    self.send_response(status)
                    self.send_header("Content-Length", "0")
                    self.end_headers()

                def log_message(self, *_: object) -> None:
                    pass

            server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            for end in (thread.join, server.server_close, server.shutdown):
                ends.callback(end)
            return KEYS | {"aws_endpoint": f"http://127.0.0.1:{server.server_port}"}

        yield start


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (403, "403 Forbidden; set credentials by options of the store or the environment"),
        (404, "404 Not Found; check the name of the bucket, and the endpoint"),
        (503, "503 Service Unavailable, after 2 retries"),
    ],
)
def test_what_a_store_answers_is_told_in_a_line(
    answering: Callable[[int], dict[str, str]], monkeypatch: pytest.MonkeyPatch, status: int, reason: str
) -> None:
    monkeypatch.setattr(object_files, "RETRIES", 2)
    options = answering(status)
    said = f"{BUCKET}/logs: GET {options['aws_endpoint']}/{BUCKET}: Server returned non-2xx status code: {reason}"
    with pytest.raises(DiskFault, match=re.escape(said) + "$"):
        find_partition_logs(PlaceFiles(options), f"s3://{BUCKET}/logs")


def test_objects_are_replaced_and_removed(server: S3Server) -> None:
    files, path = PlaceFiles(server.options, writable=True), f"s3://{BUCKET}/small/object"
    files.replace(path, b"one")
    files.replace(path, b"two")
    assert files.read_whole(path, 3) == b"two"
    assert files.size(path) == 3
    with pytest.raises(DiskFault, match="longer than the 2 bytes"):
        files.read_whole(path, 2)
    assert files.remove(path)
    assert not files.remove(path)


@pytest.mark.parametrize(
    ("given", "expected"),
    [("/data/", "/data"), ("file:///a%20b/", "/a b"), ("s3://bucket/x/", "s3://bucket/x"), ("data", "data")],
)
def test_a_place_has_one_name(given: str, expected: str) -> None:
    assert normalize(given) == expected


def test_a_scheme_that_nobody_reads_is_refused() -> None:
    with pytest.raises(BadUsage, match="ftp://host/x: a place is a path or begins with file://, s3://"):
        normalize("ftp://host/x")


def test_options_win_over_the_environment_and_that_over_the_profile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "credentials").write_text("[other]\naws_access_key_id = of-profile\naws_secret_access_key = secret\n")
    (tmp_path / "config").write_text("[profile other]\nregion = eu-north-1\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_PROFILE", "other")
    assert environment_options("s3", {})["aws_access_key_id"] == "of-profile"
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "of-environment")
    found = environment_options("s3", {"aws_endpoint": "http://here"})
    assert (found["aws_access_key_id"], found["aws_region"]) == ("of-environment", "eu-north-1")
    assert "aws_secret_access_key" not in found
    assert found["aws_endpoint"] == "http://here"
