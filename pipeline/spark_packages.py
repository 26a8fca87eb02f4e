"""The jars for jobs that talk to a broker or write Delta, and the options of Spark's Kafka connector.

The jars come by Maven from `pom.xml` beside this module into a folder of the user's cache, which is named after the
POM's content: another POM is another folder. Nothing is fetched behind the user's back; where jars are absent the job
says which command fetches them.
"""

import hashlib
import os
import re
import shlex
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from .failures import BadUsage, PipelineFailure

JarSet = Literal["connector", "delta"]
"""`delta` holds the connector's jars too."""

POM = Path(__file__).with_name("pom.xml")
_SPARK_HAS = "slf4j-api,snappy-java,lz4-java,jsr305,scala-library,spark-tags_2.13"
_KAFKA_SAYS = re.compile(r"org\.apache\.kafka\.common\.(?:errors\.\w+|KafkaException): (.+)")
CONNECT_TIMEOUT_S = 5.0
MAX_BLOCK_MS = 10_000
"""How long a writer waits for a topic and its partitions to be there."""
_MAIN_JAR = {"connector": "spark-sql-kafka-*.jar", "delta": "delta-spark_*.jar"}

DELTA_SETTINGS: Mapping[str, str] = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # Each commit reads the table's log anew, by default in 50 tasks: those take longer than the batch they are for.
    "spark.databricks.delta.snapshotPartitions": "4",
}
"""What a session has to be told to read and write Delta tables."""


def jar_folder(jars: JarSet) -> Path:
    """Where the jars are, or would be. `XDG_CACHE_HOME` is heeded."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "stepdown" / "spark-jars" / f"{jars}-{hashlib.sha256(POM.read_bytes()).hexdigest()[:12]}"


def maven_command(jars: JarSet) -> list[str]:
    """The command that fetches the jars."""
    profile = ["-P", "delta"] if jars == "delta" else []
    return [
        *("mvn", "-q", "-B", "-f", str(POM), *profile, "dependency:copy-dependencies", "-DincludeScope=runtime"),
        *(f"-DexcludeArtifactIds={_SPARK_HAS}", f"-DoutputDirectory={jar_folder(jars)}"),
    ]


def find_jars(jars: JarSet) -> Sequence[str]:
    """The paths of the jars, for `build_session`; none under spark-submit, whose own --jars has them.

    Raises: BadUsage with Maven's command when they are not there.
    """
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return ()
    folder = jar_folder(jars)
    if not any(folder.glob(_MAIN_JAR[jars])):
        raise BadUsage(f"the {jars} jars are not here; fetch them once: {shlex.join(maven_command(jars))}")
    return sorted(map(str, folder.glob("*.jar")))


def read_options(bootstrap: str, topics: str | None = None, *, headers: bool = True) -> dict[str, str]:
    """Options of `format("kafka")` to read from the earliest offset on, all topics but internal ones by default."""
    chosen = {"subscribePattern": "(?!__).*"} if topics is None else {"subscribe": topics}
    return {
        "kafka.bootstrap.servers": bootstrap,
        "startingOffsets": "earliest",
        "includeHeaders": str(headers).lower(),
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
