"""One Spark for all tests of a run: starting it takes longer than they do.

It has the connector's and Delta's jars where they can be had, since a running session takes no more of them.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from .clients_raw import wait_until
from .spark_jars import jars_at_hand

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
    # What the second compiler would gain takes longer than these tests, and verifying classes takes a seventh of the
    # CPU of a short run.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    " -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote",
    # Clients that outlive their broker ask whoever gets its port next, and make topics there.
    **{
        f"spark.kafka.{kind}.cache.{what}": "1s"
        for kind in ("consumer", "producer")
        for what in ("timeout", "evictorThreadRunInterval")
    },
}
ESTABLISHED = "01"


def write_spark_defaults(folder: Path) -> None:
    """Write the settings for a Spark that a command starts; `SPARK_CONF_DIR` names the folder."""
    folder.mkdir(exist_ok=True)
    lines = (f"{key} {value}\n" for key, value in SETTINGS.items())
    (folder / "spark-defaults.conf").write_text("".join(lines))


def start_spark(folder: Path) -> "SparkSession":
    """Return a session of two cores, small enough to share a machine, with its temporary files in the folder."""
    from stepdown.pipeline.session import build_session
    from stepdown.pipeline.spark_packages import DELTA_SETTINGS

    jars = jars_at_hand()
    settings = ({"spark.jars": ",".join(jars), **DELTA_SETTINGS} if jars else {}) | SETTINGS
    settings |= {"spark.driver.defaultJavaOptions": f"-Djava.io.tmpdir={folder}"}
    return build_session("tests", master="local[2]", settings=settings)


def wait_for_clients_to_leave(address: str) -> None:
    """Return when nobody is connected to 127.0.0.1 at the port of `address`: Spark keeps its clients for a second."""
    port = f"0100007F:{int(address.rpartition(':')[2]):04X}"

    def is_deserted() -> bool:
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        return not any(row[1] == port and row[3] == ESTABLISHED for row in rows)

    wait_until(is_deserted, f"clients of {address} are gone")
