"""What an install gives Spark, and what its jobs say on the terminal."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from stepdown.pipeline.failures import EXIT_BAD_USAGE
from stepdown.pipeline.progress import share_of_tasks_done
from stepdown.pipeline.session import QUIET

FOUND = "from pkgutil import iter_modules; print([each.name for each in iter_modules() if 'pyspark_' in each.name])"


def test_spark_finds_the_sources_in_an_editable_install_too() -> None:
    """It was found in an installed wheel only: Spark lists folders, and setuptools' finder has none."""
    done = subprocess.run([sys.executable, "-P", "-c", FOUND], capture_output=True, text=True, check=True)
    assert "'pyspark_stepdown'" in done.stdout and "'pyspark_stepdown_batches'" in done.stdout


def test_another_spark_is_named_with_what_it_lacks(tmp_path: Path) -> None:
    """It was said not to be installed. What is here in its place has as much of the data sources as Spark 3.5."""
    (tmp_path / "pyspark").mkdir()
    (tmp_path / "pyspark" / "__init__.py").write_text('__version__ = "3.5.9"\n')
    done = subprocess.run(
        [sys.executable, "-m", "stepdown.pipeline", "census", "logs"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
    )
    assert done.returncode == EXIT_BAD_USAGE
    assert done.stderr.startswith("stepdown-pipeline: Spark 3.5.9 has no pyspark.sql")
    assert done.stderr.endswith(" as Spark 4.2 has it, which the pipeline needs\n")


def test_how_far_a_job_is_comes_from_its_largest_stage() -> None:
    stages = {
        1: SimpleNamespace(numTasks=40, numCompletedTasks=10),
        2: SimpleNamespace(numTasks=2, numCompletedTasks=2),
    }
    tracker = SimpleNamespace(getActiveStageIds=lambda: [1, 2, 3], getStageInfo=stages.get)
    session: Any = SimpleNamespace(sparkContext=SimpleNamespace(statusTracker=lambda: tracker))
    assert share_of_tasks_done(session) == 0.25
    stages.clear()
    assert share_of_tasks_done(session) == 0.0


def test_spark_is_started_with_a_configuration_that_lets_errors_through_only() -> None:
    lines = QUIET.read_text().splitlines()
    assert {"rootLogger.level = error", "logger.gateway.level = error"} <= set(lines)
    assert "logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer" in lines  # else it says "WARN"
