"""The Spark session that the jobs run in.

Everything stays on this machine unless a master is given: the driver listens on 127.0.0.1, and there is no web page.
Python workers are this interpreter; else Spark may take another Python, without stepdown.
"""

import os
import sys
from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession

from .sources import register

LOCAL = "127.0.0.1"

SETTINGS = {
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": LOCAL,
    "spark.driver.bindAddress": LOCAL,
}


def build_session(
    name: str, *, master: str | None = None, jars: Sequence[str] = (), settings: Mapping[str, str] | None = None
) -> SparkSession:
    """Return a session with both data sources registered; the one that runs already, if one does.

    `master` is `local[*]` unless it is given here or by spark-submit. `jars` are paths. `settings` win over those of
    this module.
    """
    os.environ.setdefault("SPARK_LOCAL_IP", LOCAL)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(f"stepdown {name}")
    if master is not None:
        builder = builder.master(master)
    elif "PYSPARK_GATEWAY_PORT" not in os.environ:  # spark-submit started us, with a master of its own
        builder = builder.master("local[*]")
    wanted = SETTINGS | dict(settings or {})
    if jars:
        wanted["spark.jars"] = ",".join(jars)
    for key, value in wanted.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    register(session)
    return session
