"""A standalone Spark master and workers on 127.0.0.1 that do not see one another's files.

Each worker lives in a mount namespace of its own, in which /tmp and the test's folder are empty: what a driver or
another worker has written there is not there for it. A job that counts on a shared disk fails.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pyspark
import pytest
from stepdown.bench.servers.ports import free_port
from stepdown.bench.servers.process import wait_until

from .deadline import DEADLINE_S

_HIDDEN = (
    'mount -t tmpfs none /tmp && mkdir -p "$1" && { mount -t tmpfs none "$1" || exit 1; } && cd / && shift && exec "$@"'
)


class SparkCluster:
    """The running master and its workers, each with one core and an executor of its own."""

    def __init__(self, folder: Path, hidden: Path) -> None:
        self._folder = folder
        self._hidden = hidden
        self._port = free_port()
        self._processes: list[subprocess.Popen[bytes]] = []
        self.url = f"spark://127.0.0.1:{self._port}"

    def start(self, workers: int) -> None:
        """Start all; returns when the workers are known to the master."""
        ports = ["--port", str(self._port), "--webui-port", str(free_port())]
        self._start("master.Master", [], ["--host", "127.0.0.1", *ports], "master")
        master = self._folder / "master.log"
        wait_until(
            lambda: "RegistrationMaster" in master.read_text() or "ALIVE" in master.read_text(),
            "a master",
            timeout_s=DEADLINE_S,
        )
        alone = ["unshare", "--mount", "--propagation", "private", "sh", "-c", _HIDDEN, "sh", str(self._hidden)]
        for number in range(workers):
            words = ["--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", str(free_port())]
            self._start(
                "worker.Worker",
                alone,
                [*words, "--work-dir", "/tmp/work", self.url],
                f"worker-{number}",
            )
        wait_until(lambda: master.read_text().count("Registering worker") >= workers, "workers", timeout_s=DEADLINE_S)

    def run(self, words: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
        """Start `stepdown-pipeline` with these words on the cluster."""
        return self.run_python(["-m", "stepdown.pipeline", *words, "--master", self.url], log)

    def run_python(self, words: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
        """Start Python with these words as a driver's process; `url` is to be its master."""
        with log.open("wb") as out:
            return subprocess.Popen(
                [sys.executable, *words],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=self._environment(),
            )

    def kill_worker(self, number: int) -> None:
        """End a worker, its executor and Python processes at once."""
        os.killpg(self._processes[1 + number].pid, signal.SIGKILL)

    def stop(self) -> None:
        for process in reversed(self._processes):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _start(self, main: str, before: Sequence[str], words: Sequence[str], name: str) -> None:
        spark_class = Path(pyspark.__file__).parent / "bin" / "spark-class"
        with (self._folder / f"{name}.log").open("wb") as log:
            command = [*before, str(spark_class), f"org.apache.spark.deploy.{main}", *words]
            self._processes.append(
                subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                    env=self._environment(),
                )
            )

    def _environment(self) -> dict[str, str]:
        own = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(Path(pyspark.__file__).parent)}
        return os.environ | own | {"PYSPARK_PYTHON": sys.executable, "SPARK_CONF_DIR": str(self._folder / "conf")}


@contextmanager
def spark_cluster(folder: Path, *, hidden: Path, workers: int = 2) -> Iterator[SparkCluster]:
    """A cluster with its logs in `folder`, whose workers do not see what is in `hidden`. Skips without namespaces."""
    if shutil.which("unshare") is None or subprocess.run(["unshare", "--mount", "true"], check=False).returncode:
        pytest.skip("no mount namespaces: they need root")
    conf = folder / "conf"
    conf.mkdir(parents=True)
    settings = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false"}
    settings |= {"spark.executor.memory": "768m", "spark.driver.memory": "1g", "spark.executor.cores": "1"}
    settings["spark.shuffle.readHostLocalDisk"] = "false"  # workers of one host name, without a disk of it
    (conf / "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
    with ExitStack() as ends:
        cluster = SparkCluster(folder, hidden)
        ends.callback(cluster.stop)
        cluster.start(workers)
        yield cluster
