"""Archives whose process is killed at any step are whole after the next run: no row twice, none missing."""

import json
from pathlib import Path

import pytest
from stepdown.pipeline.archive.log_archive import Format
from support.archive_runs import archive_in_batches_and_compact, read_table, run_and_die
from support.log_directories import write_topic

NEVER = -1
KILLED = -9


def rows(out: Path, kind: Format) -> list[tuple[int, int]]:
    found = read_table(out, kind).select(["partition", "offset"]).to_pylist()
    return sorted((row["partition"], row["offset"]) for row in found)


@pytest.mark.parametrize("kind", ["parquet", "delta"])
@pytest.mark.parametrize("moments", [6, pytest.param(30, marks=pytest.mark.slow)])
def test_a_run_that_is_killed_at_any_step_is_made_up_for(kind: Format, moments: int, tmp_path: Path) -> None:
    log_dir = tmp_path / "logs"
    write_topic(log_dir, "topic", partitions=2, segments=1)
    everything = [(partition, offset) for partition in range(2) for offset in range(40)]
    code, steps = run_and_die(NEVER, log_dir, tmp_path / "whole", kind)
    assert code == 0 and steps > moments
    for moment in range(moments):
        out = tmp_path / f"killed-{moment}"
        assert run_and_die(moment * steps // moments, log_dir, out, kind)[0] == KILLED
        archive_in_batches_and_compact(log_dir, out, kind)
        assert rows(out, kind) == everything, moment
        if kind == "parquet":
            check_manifest(out)


def check_manifest(out: Path) -> None:
    """It names all files that there are, and how many rows they have."""
    manifest = json.loads((out / "_manifest.json").read_text())
    assert sorted(each["path"] for each in manifest["files"]) == sorted(
        str(path.relative_to(out)) for path in out.rglob("*.parquet")
    )
    assert sum(each["rows"] for each in manifest["files"]) == 80
    assert not manifest["joining"] and not manifest["replaced"]
