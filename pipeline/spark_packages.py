"""The jars for jobs that talk to a broker, and the options of Spark's Kafka connector.

Spark fetches them by its own mechanism (`--packages`, `spark.jars.packages`), into the cache that it has for them, or
takes them from a folder where there is no network. Their versions are pinned here and nowhere else.
"""

import os
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from .failures import BadUsage, PipelineFailure

JarSet = Literal["connector", "delta"]

PACKAGES: Mapping[JarSet, str] = {
    "connector": "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "delta": "io.delta:delta-spark_4.2_2.13:4.4.0",
}
"""What `--packages` takes. Spark and Scala are those of pyspark, which pyproject.toml pins."""
SPARK_HAS = (
    *(
        "org.apache.hadoop:*",
        "org.apache.parquet:*",
        "org.apache.logging.log4j:*",
        "org.slf4j:*",
        "org.roaringbitmap:*",
    ),
    *("com.fasterxml.jackson.core:*", "com.fasterxml.jackson.datatype:*", "com.github.luben:zstd-jni"),
    *("org.xerial.snappy:*", "at.yawk.lz4:*", "io.airlift:*", "com.google.code.findbugs:*", "javax.annotation:*"),
    *("commons-pool:*", "org.locationtech.jts:*", "io.unitycatalog:*"),
)
"""What the packages ask for and Spark brings itself, or that is only for catalogs that are not used here."""
_KAFKA_SAYS = re.compile(r"org\.apache\.kafka\.common\.(?:errors\.\w+|KafkaException): (.+)")
CONNECT_TIMEOUT_S = 5.0
MAX_BLOCK_MS = 10_000
"""How long a writer waits for a topic and its partitions to be there."""

DELTA_SETTINGS: Mapping[str, str] = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # Each commit reads the table's log anew, by default in 50 tasks: those take longer than the batch they are for.
    "spark.databricks.delta.snapshotPartitions": "4",
}
"""What a session has to be told to read and write Delta tables."""


def jar_settings(sets: Sequence[JarSet], folder: str | None = None) -> dict[str, str]:
    """The settings of a session that has these jars: from a folder, or fetched; none under spark-submit, which has its
    own `--packages` and `--jars`.

    Raises: BadUsage for a folder without jars.
    """
    if folder is None:
        if "PYSPARK_GATEWAY_PORT" in os.environ:
            return {}
        packages = ",".join(PACKAGES[each] for each in sets)
        return {"spark.jars.packages": packages, "spark.jars.excludes": ",".join(SPARK_HAS)}
    jars = sorted(str(path) for path in Path(folder).glob("*.jar"))
    if not jars:
        raise BadUsage(f"no jars in {folder}: copy there what Spark has fetched elsewhere, see docs/pipeline.md")
    return {"spark.jars": ",".join(jars)}


def read_options(
    bootstrap: str, topics: str | None = None, *, headers: bool = True, isolation_level: str = "read_uncommitted"
) -> dict[str, str]:
    """Options of `format("kafka")` to read from the earliest offset on, all topics but internal ones by default."""
    chosen = {"subscribePattern": "(?!__).*"} if topics is None else {"subscribe": topics}
    return {
        "kafka.bootstrap.servers": bootstrap,
        "startingOffsets": "earliest",
        "includeHeaders": str(headers).lower(),
        "kafka.isolation.level": isolation_level,
        **chosen,
    }


def write_options(bootstrap: str, *, codec: str = "none", idempotent: bool = True) -> dict[str, str]:
    """Options of `format("kafka")` to write. Brokers that know Produce 2 at most need `idempotent=False`."""
    return {
        "kafka.bootstrap.servers": bootstrap,
        "kafka.compression.type": codec,
        "kafka.enable.idempotence": str(idempotent).lower(),
        "kafka.max.block.ms": str(MAX_BLOCK_MS),
    }


def check_reachable(bootstrap: str) -> None:
    """Return when one of the addresses takes connections; Kafka's client would try for minutes.

    Raises: BadUsage for what is no address, PipelineFailure when nobody listens.
    """
    for address in bootstrap.split(","):
        host, _, port = address.strip().rpartition(":")
        if not host or not port.isdecimal():
            raise BadUsage(f"expected HOST:PORT, found {address!r}")
        with suppress(OSError), socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_TIMEOUT_S):
            return
    raise PipelineFailure(f"no broker listens at {bootstrap}")


@contextmanager
def broker_errors() -> Iterator[None]:
    """Turn what Kafka's client says inside Spark's errors into one line. Raises: PipelineFailure."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        found = _KAFKA_SAYS.findall(str(error))
        if not found:
            raise
        raise PipelineFailure(f"Kafka's client says: {found[-1].strip()}") from error
