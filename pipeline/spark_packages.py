"""The jars for jobs that talk to a broker or write Delta tables.

Spark fetches them by its own mechanism (`--packages`, `spark.jars.packages`), into the cache that it has for them, or
takes them from a folder where there is no network. Their versions are pinned here and nowhere else.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from .failures import BadUsage

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

DELTA_SETTINGS: Mapping[str, str] = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # Each commit reads the table's log again, by default in 50 tasks: those take longer than the batch they are for.
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
