"""The jobs that README.md shows run over a log directory."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as parquet
import pytest
from stepdown.pipeline.command import main
from support.log_directories import write_topic
from support.readme import commands

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_directory_is_counted_and_kept_as_a_table(
    spark: "SparkSession", tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_topic(tmp_path / "old-data", "orders")
    for command in commands("stepdown-pipeline census"):
        program, *arguments = shlex.split(command.replace("./", f"{tmp_path}/"))
        assert (program, main(arguments)) == ("stepdown-pipeline", 0)
    assert "orders" in capsys.readouterr().out
    assert sum(parquet.read_metadata(file).num_rows for file in (tmp_path / "table").rglob("*.parquet")) == 80
