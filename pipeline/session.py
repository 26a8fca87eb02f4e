"""The Spark session that the jobs run in.

On a local master everything stays on this machine: the driver listens on 127.0.0.1, and there is no web page. On a
cluster, addresses and pages are those that Spark is set to, since its workers have to reach the driver. Spark says
errors only, unless SPARK_SUBMIT_OPTS names another log4j configuration. Python workers are this interpreter; else Spark
may take another one, without stepdown.
"""

import os
import signal
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pyspark import RDD, SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from .failures import PipelineFailure
from .sources import register

LOCAL = "127.0.0.1"
_NO_PACKAGES = "Spark did not start: it could not fetch its packages, see above; --jars FOLDER takes them from a folder"
QUIET = Path(__file__).with_name("quiet.log4j2.properties")

SETTINGS = {
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",  # `progress.py` shows how far a job is
}
"""What the data sources count on, anywhere."""

LOCAL_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": LOCAL,
    "spark.driver.bindAddress": LOCAL,
}

SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions", "8"
"""What is shuffled is counts and samples, never records: Spark's 200 tasks take longer than the work."""

MOST_TASKS = 2000
"""Each costs the driver some milliseconds."""

Item = TypeVar("Item")


def build_session(name: str, *, master: str | None = None, settings: Mapping[str, str] | None = None) -> SparkSession:
    """Return a session with both data sources registered; the one that runs already, if one does.

    `master` is `local[*]` unless it is given here or by spark-submit. `settings` win over those of
    this module.

    Raises: PipelineFailure when Spark cannot fetch the packages of the settings.
    """
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ  # spark-submit started us, with a master of its own
    if master is None and not submitted:
        master = "local[*]"
    conf = SparkConf().setAppName(f"stepdown {name}")
    if master is not None:
        conf.setMaster(master)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_SUBMIT_OPTS", f"-Dlog4j2.configurationFile={QUIET.as_uri()}")
    for key, value in (_settings(master) | dict(settings or {})).items():
        conf.set(key, value)
    on_interrupt = signal.getsignal(signal.SIGINT)
    try:
        SparkContext.getOrCreate(conf)
    except PySparkRuntimeError as error:
        if "spark.jars.packages" not in (settings or {}):
            raise
        raise PipelineFailure(_NO_PACKAGES) from error
    _restore_handler(on_interrupt)
    session = SparkSession.builder.config(conf=conf).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    key, value = SHUFFLE_PARTITIONS
    if not session.sparkContext.getConf().contains(key):
        session.conf.set(key, value)
    register(session)
    return session


def parallelize(session: SparkSession, items: Sequence[Item]) -> RDD[Item]:
    """The items, which come the largest first, as tasks: one each, of more than `MOST_TASKS` several far apart."""
    count = max(1, min(len(items), MOST_TASKS))
    dealt = [item for first in range(count) for item in items[first::count]]
    return session.sparkContext.parallelize(dealt, count)


def _restore_handler(handler: Any) -> None:
    """Put a handler of ^C back that is the program's own: Spark has set another, which asks a JVM that is busy."""
    if handler is not signal.default_int_handler and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, handler)


def _settings(master: str | None) -> dict[str, str]:
    settings = SETTINGS | {"spark.driver.defaultJavaOptions": f'"-Djava.io.tmpdir={tempfile.gettempdir()}"'}
    if master is None or not master.startswith("local"):
        return settings
    os.environ.setdefault("SPARK_LOCAL_IP", LOCAL)
    return settings | LOCAL_SETTINGS
