"""A broker that is started with too few file descriptors says so and ends; what is in its directories stays."""

import errno
import itertools
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.broker.metadata.topics import NewTopic
from stepdown.protocol.errors import DiskFault
from stepdown.storage.files.file_handle import OpenFile
from stepdown.storage.files.files import Files
from support.admin import write
from support.client import RawClient
from support.running import running_broker

PARTITIONS = 4
LEAST = 16
"""With 12 the interpreter can make its event loop."""
ENOUGH = 64


async def leave_directory(folder: Path) -> None:
    """What a broker leaves that is killed: logs of several segments that have to be recovered."""
    async with (
        running_broker(folder, log_segment_bytes=400, log_retention_ms=-1) as broker,
        await RawClient.connect(broker.address.host, broker.address.port) as client,
    ):
        settings = broker.topics.configuration.topic_settings({})
        await broker.topics.create([NewTopic(name="t", partitions=PARTITIONS, settings=settings)])
        for index in range(PARTITIONS):
            await write(client, "t", partition=index, times=10)
        broker.stop = broker.kill  # type: ignore[method-assign]


def start_with(folder: Path, descriptors: int) -> tuple[int, str]:
    """Exit status and output of a broker that is stopped when it serves."""
    command = [sys.executable, "-m", "stepdown", "serve", "--listen", "127.0.0.1:0", "--log-dir", str(folder)]
    command += ["-o", "stepdown.http.listen=127.0.0.1:0", "-o", "log.retention.ms=-1"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors)),
    ) as process:
        assert process.stdout is not None
        said = ""
        for line in process.stdout:
            said += line
            if "stepdown listening on" in line:
                process.terminate()
    return process.returncode, said


class FewFiles(Files):
    """After so many files that were opened there is no descriptor any more."""

    def __init__(self, left: int) -> None:
        super().__init__()
        self.left = left

    def _take(self, path: str) -> None:
        self.left -= 1
        if self.left < 0:
            raise self.report(path, OSError(errno.EMFILE, os.strerror(errno.EMFILE)))

    def _open(self, path: str, *, create: bool) -> OpenFile:
        self._take(path)
        return super()._open(path, create=create)

    def read_whole(self, path: str, limit: int) -> bytes | None:
        self._take(path)
        return super().read_whole(path, limit)

    def names(self, path: str) -> list[str]:
        self._take(path)
        return super().names(path)

    def replace(self, path: str, data: bytes, *, sync: bool = True, private: bool = False) -> None:
        self._take(path)
        super().replace(path, data, sync=sync, private=private)


@pytest.mark.parametrize("is_recovered", [True, False], ids=["after a kill", "after a clean stop"])
async def test_each_file_of_a_start_may_be_the_one_too_many(tmp_path: Path, is_recovered: bool) -> None:
    """Fault: a folder's topic id counted as not known, and a broker without its cleaner's checkpoint kept its locks."""
    data = tmp_path / "data"
    await leave_directory(data)
    shutil.copytree(data, tmp_path / "copy")
    wanted = await records_in(tmp_path / "copy" if is_recovered else data)
    for opened in itertools.count(1):
        files = FewFiles(opened)
        try:
            async with running_broker(data, files=files, log_retention_ms=-1) as broker:
                found = ends(broker)
                has_enough, files.left = files.left >= 0, 1 << 30
        except DiskFault as fault:
            assert "Too many open files: raise the limit of open files" in str(fault)
            continue
        assert found == wanted, opened
        if has_enough:
            break
    assert opened > PARTITIONS
    assert await records_in(data) == wanted


def ends(broker: Broker) -> list[int]:
    return [broker.cluster.partition("t", index).log.log_end_offset for index in range(PARTITIONS)]


async def records_in(folder: Path) -> list[int]:
    async with running_broker(folder, log_retention_ms=-1) as broker:
        return ends(broker)


@pytest.mark.parametrize("is_recovered", [True, False], ids=["after a kill", "after a clean stop"])
async def test_a_start_without_descriptors_says_so_and_loses_nothing(tmp_path: Path, is_recovered: bool) -> None:
    """Fault: the HTTP port that got no socket was an IndexError."""
    data = tmp_path / "data"
    await leave_directory(data)
    shutil.copytree(data, tmp_path / "copy")
    wanted = await records_in(tmp_path / "copy" if is_recovered else data)
    assert min(wanted) > 0
    refused = 0
    for descriptors in range(LEAST, ENOUGH):
        status, said = start_with(data, descriptors)
        assert "Traceback" not in said, (descriptors, said)
        if status == 0:
            break
        assert status == 1
        assert "Too many open files" in said.splitlines()[-1], (descriptors, said)
        refused += 1
    assert 0 < refused < ENOUGH - LEAST
    assert await records_in(data) == wanted
    assert not list(data.glob("*-stray"))
