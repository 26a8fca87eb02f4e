"""Temporary files of a job lie in one folder, which goes with its process or, if that was killed, with the next one."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from stepdown.pipeline.temporary_files import child_processes, end_processes, spark_temporary_folder, temporary_folder

OWNER = (
    "import sys; from stepdown.pipeline.temporary_files import temporary_folder\n"
    "with temporary_folder() as folder: (folder / 'blockmgr').mkdir(); print(folder, flush=True); sys.stdin.read()"
)


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)


def test_the_next_process_removes_what_a_killed_one_has_left_and_nothing_of_a_living_one(tmp_path: Path) -> None:
    (tmp_path / "stepdown-pipeline-a-file").touch()
    owners = [
        subprocess.Popen([sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    folders = [Path(owner.stdout.readline().strip()) for owner in owners if owner.stdout]
    assert all((folder / "blockmgr").is_dir() for folder in folders)
    owners[0].kill()
    owners[0].communicate()
    with temporary_folder() as own:
        assert Path(tempfile.gettempdir()) == own == Path(os.environ["TMPDIR"])
        assert {path.is_dir() for path in (own, folders[1])} == {True}
        assert not folders[0].exists()
    owners[1].communicate("")
    assert [path.name for path in tmp_path.iterdir()] == ["stepdown-pipeline-a-file"]


def test_processes_that_were_started_in_the_block_end_with_it(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "1000"]) as before:
        with spark_temporary_folder():
            child = subprocess.Popen(["sh", "-c", "sleep 1000 & wait"])
        assert child.poll() is not None
        assert before.pid in child_processes()
        end_processes({before.pid})
    assert list(tmp_path.iterdir()) == []
