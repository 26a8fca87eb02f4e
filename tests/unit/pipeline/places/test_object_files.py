"""Objects over a bad connection, under unusual keys, by the thousand, and replaced while they are read.

The store is moto's and, in slow tests, versitygw.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from stepdown.pipeline.layouts.partition_logs import find_partition_logs
from stepdown.pipeline.places import object_files
from stepdown.pipeline.places.place_files import PlaceFiles
from stepdown.pipeline.reading.splits import OffsetsToRead
from stepdown.protocol.errors import DiskFault
from support.log_directories import keyed_records, write_batches, write_topic
from support.planned_rows import offsets_of
from support.s3 import BUCKET, FAULTS, S3Server, s3_server
from support.versitygw import versity_gateway

STORES = [pytest.param(s3_server, id="moto"), pytest.param(versity_gateway, id="versitygw", marks=pytest.mark.slow)]


@pytest.fixture(scope="module", params=STORES)
def server(request: pytest.FixtureRequest) -> Iterator[S3Server]:
    opened: Callable[[], AbstractContextManager[S3Server]] = request.param
    with opened() as running:
        yield running


@pytest.mark.parametrize("fault", FAULTS)
def test_rows_are_right_over_answers_with_a_fault(fault: str, tmp_path: Path) -> None:
    write_batches(tmp_path, "topic", 0, [keyed_records(at * 10, 10, value_bytes=2000) for at in range(60)])
    with s3_server(failing=0.3, fault=fault) as server:
        root = server.upload(tmp_path, "logs")
        found = offsets_of(PlaceFiles(server.options), root, OffsetsToRead(), split_bytes=200_000)
    assert found == list(range(600))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_stays_is_an_error_after_a_limit_of_retries(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_files, "RETRIES", 2)
    write_topic(tmp_path, "topic")
    with s3_server(failing=1.0, fault=fault) as server:
        root = server.upload(tmp_path, "logs")
        with pytest.raises(DiskFault, match=f"^{root}"):
            offsets_of(PlaceFiles(server.options), root, OffsetsToRead(), split_bytes=1000)


@pytest.mark.parametrize(
    "prefix", ["a b", "100%", "a%20b", "1+1=2", "größe/日本", "quote'd", "a&b=c;d", "#hash?query", "[x]{y}~"]
)
def test_keys_are_taken_as_they_are(prefix: str, server: S3Server, tmp_path: Path) -> None:
    write_topic(tmp_path, "topic", partitions=2, segments=3)
    objects = {f"{prefix}/{each.relative_to(tmp_path)}": each.read_bytes() for each in tmp_path.rglob("*.*")}
    server.put_many(objects)
    files, root = PlaceFiles(server.options, writable=True), f"s3://{BUCKET}/{prefix}"
    assert offsets_of(files, root, OffsetsToRead(first=33, end=90), split_bytes=1000) == list(range(33, 90)) * 2
    files.replace(f"{root}/{prefix}", b"written")
    assert files.read_whole(f"{root}/{prefix}", 100) == b"written"
    assert files.size(f"{root}/{prefix}") == 7
    assert files.remove(f"{root}/{prefix}")
    assert not files.exists(f"{root}/{prefix}")


def test_a_list_has_more_than_a_thousand_keys(server: S3Server, tmp_path: Path) -> None:
    """A store answers a thousand at a time."""
    segment = write_batches(tmp_path, "topic", 0, [keyed_records(0, 10)]).log.read_bytes()
    server.put_many({f"many/topic-0/{number * 10:020}.log": segment for number in range(5000)})
    server.put_many({f"many/other-{number}/{0:020}.log": segment for number in range(1200)})
    files = PlaceFiles(server.options)
    assert len(files.entries(f"s3://{BUCKET}/many/topic-0")) == 5000
    topic = find_partition_logs(files, f"s3://{BUCKET}/many", ["topic"])
    assert [segment.base_offset for segment in topic[0].segments] == list(range(0, 50_000, 10))
    assert len(files.entries(f"s3://{BUCKET}/many")) == 1201


@pytest.mark.parametrize("what", ["other bytes", "more bytes"])
def test_an_object_that_is_replaced_while_it_is_read_is_an_error(what: str, server: S3Server) -> None:
    """Its rows would have been of two versions."""
    data = bytes(3 << 20)
    path = f"s3://{BUCKET}/replaced/{what}"
    server.put_many({f"replaced/{what}": data})
    file = PlaceFiles(server.options).handle(path, len(data))
    assert file.read(1000, 0) == bytes(1000)
    server.put_many({f"replaced/{what}": data[:-1] + b"x" if what == "other bytes" else data + b"x"})
    with pytest.raises(DiskFault, match="was replaced while it was read; read it again"):
        file.read(1000, 2 << 20)
    file.close()
    assert PlaceFiles(server.options).handle(path, len(data)).read(1, len(data) - 1) in (b"x", bytes(1))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"aws_secret_access_key": "wrong"}, "set credentials by options of the store or the environment"),
        ({"aws_access_key_id": "nobody"}, "set credentials by options of the store or the environment"),
        ({"aws_region": "eu-north-1"}, "set the bucket's region by an option of the store"),
    ],
)
def test_wrong_credentials_are_refused_with_a_sentence(wrong: dict[str, str], told: str, tmp_path: Path) -> None:
    with versity_gateway() as server:
        write_topic(tmp_path, "topic")
        root = server.upload(tmp_path, "logs")
        assert offsets_of(PlaceFiles(server.options), root, OffsetsToRead(), split_bytes=1000) == list(range(80))
        with pytest.raises(DiskFault, match=told):
            PlaceFiles(server.options | wrong).entries(root)
        with pytest.raises(DiskFault, match="check the name of the bucket, and the endpoint"):
            PlaceFiles(server.options).entries("s3://no-such-bucket/logs")
