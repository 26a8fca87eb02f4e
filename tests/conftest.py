"""Fixtures that any room's tests may ask for."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from support.java_oracle import JavaOracle, java_oracle_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def java_oracle() -> Callable[..., JavaOracle]:
    """Return `java_oracle(room)`: Kafka's own classes behind `call(command, payload)`; skips where Java is missing."""
    return java_oracle_for


@pytest.fixture(scope="session")
def spark() -> "Iterator[SparkSession]":
    """A local Spark with both data sources, and with the jars for Kafka and Delta where they can be had."""
    from support.spark import start_spark

    session = start_spark()
    yield session
    session.stop()
