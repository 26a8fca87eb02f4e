"""`stepdown topics adopt --log-dir --dry-run` reads, and neither way makes folders of partitions that lie elsewhere."""

import asyncio
import shutil
from pathlib import Path

import pytest
from stepdown.broker.metadata.topics import NewTopic
from stepdown.storage.metadata.metadata_log_contents import FOLDER
from support.admin import write
from support.client import RawClient
from support.command import Finished, run_command
from support.running import running_broker

TOPIC = "orders"


@pytest.fixture
async def data(tmp_path: Path) -> Path:
    """Two log directories, with three of the six partitions each, and no metadata."""
    first, second = tmp_path / "data" / "first", tmp_path / "data" / "second"
    async with (
        running_broker(first, log_dirs=f"{first},{second}") as broker,
        await RawClient.connect(broker.address.host, broker.address.port) as client,
    ):
        settings = broker.topics.configuration.topic_settings({})
        await broker.topics.create([NewTopic(name=TOPIC, partitions=6, settings=settings)])
        await write(client, TOPIC, times=5)
    assert [len(list(each.glob(f"{TOPIC}-*"))) for each in (first, second)] == [3, 3]
    shutil.rmtree(first / FOLDER)
    return tmp_path / "data"


def contents(directory: Path) -> dict[str, tuple[int, int, bytes]]:
    """Mode, time of change and bytes of everything below."""
    return {
        str(path.relative_to(directory)): (
            path.stat().st_mode,
            path.stat().st_mtime_ns,
            b"" if path.is_dir() else path.read_bytes(),
        )
        for path in sorted([directory, *directory.rglob("*")])
    }


def adopt(*words: str, directories: list[Path]) -> Finished:
    places = [word for each in directories for word in ("--log-dir", str(each))]
    return run_command("topics", "adopt", "--defaults", *words, *places)


async def serve(data: Path) -> None:
    async with running_broker(data, log_dirs=f"{data / 'first'},{data / 'second'}"):
        pass


@pytest.mark.parametrize("is_known", [False, True], ids=["taken over", "with metadata"])
@pytest.mark.parametrize("was_clean", [True, False])
async def test_a_dry_run_leaves_every_file_as_it_is(data: Path, is_known: bool, was_clean: bool) -> None:
    """A dry run took directories over: it made folders, metadata and ids, and took the mark of a clean stop."""
    if is_known:
        await serve(data)
    for place in (data / "first", data / "second"):
        (place / "meta.properties").write_text("version=0\nbroker.id=1\n")
        (place / f"{TOPIC}-0" / "00000000000000000000.snapshot").unlink(missing_ok=True)
        if not was_clean:
            (place / ".kafka_cleanshutdown").unlink()
    before = contents(data)
    for directories in ([data / "first", data / "second"], [data / "first"], [data / "second"], [data / "none"]):
        done = adopt("--dry-run", directories=directories)
        assert contents(data) == before
        if len(directories) == 2:
            assert done.exit_code == 0, done.stderr
            assert done.stdout.startswith("orders: the broker's defaults; retention would delete ")


@pytest.mark.parametrize("is_known", [False, True], ids=["taken over", "with metadata"])
@pytest.mark.parametrize("words", [(), ("--dry-run",)], ids=["changing", "dry run"])
async def test_one_of_two_directories_is_refused_and_stays_as_it_is(
    data: Path, is_known: bool, words: tuple[str, ...]
) -> None:
    """The partitions of the other directory were made anew, so that the next start found them in two places."""
    if is_known:
        await serve(data)
    (gap,) = [each for each in (data / "first", data / "second") if not (each / f"{TOPIC}-0").exists()]
    before = contents(data)
    done = adopt(*words, directories=[data / "first"] if is_known else [gap])
    assert done.exit_code == 1
    assert "partitions have no folder in the directories given" in done.stderr
    assert "Name all log directories" in done.stderr
    assert contents(data) == before
    both = await asyncio.to_thread(adopt, directories=[data / "first", data / "second"])
    assert both.exit_code == 0, both.stderr
    await serve(data)


OTHER_PLACES = {
    "partition": "is the folder of a partition, not a log directory",
    "missing": "there is no such directory; is its disk mounted?",
    "empty": "no broker has used",
    "file": "a folder was expected, found a file",
}


@pytest.mark.parametrize("kind", OTHER_PLACES)
@pytest.mark.parametrize(
    "words",
    [
        ("topics", "adopt", "--defaults", "--log-dir"),
        ("topics", "adopt", "--defaults", "--dry-run", "--log-dir"),
        ("metadata", "prepare", "--for", "4.4"),
    ],
)
def test_a_path_that_is_no_log_directory_is_refused_at_rest(tmp_path: Path, kind: str, words: tuple[str, ...]) -> None:
    """A mistyped path was made a log directory, and the command said that all is well."""
    for name in ("partition", "empty"):
        (tmp_path / name).mkdir()
    (tmp_path / "partition" / f"{0:020d}.log").write_bytes(b"")
    (tmp_path / "file").write_bytes(b"")
    before = contents(tmp_path)
    done = run_command(*words, str(tmp_path / kind))
    assert (done.exit_code, OTHER_PLACES[kind] in done.stderr) == (1, True), done.stderr
    assert contents(tmp_path) == before
