"""One Spark for all tests of the pipeline: starting it takes longer than they do."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    from stepdown.pipeline.session import build_session

    settings = {
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "1",
    }
    session = build_session("tests", master="local[2]", settings=settings)
    yield session
    session.stop()
