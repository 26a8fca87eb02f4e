"""Rows of a large log on a Spark whose workers share no disk, also when one of them is killed. `make pipeline-cluster`:

    cd tests && ../.venv/bin/python -m support.pipeline_on_cluster [--gigabytes GB] [--codec CODEC]

A master and two workers run on 127.0.0.1; a WebDAV server has the log directory, which no worker sees as a folder. The
rows of all partitions are summed up three times: in one process from the path, on the cluster, and on the cluster while
a worker with its executor is killed after a third of all bytes was sent. All three have to be equal, with as many
rows as were written.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stepdown.pipeline.workload.log_directory import write_log_directory
from stepdown.pipeline.workload.records import Workload
from stepdown.protocol.records.layout import Codec

from . import row_summary
from .object_stores import shown_by_webdav
from .spark_cluster import SparkCluster, spark_cluster

TOPIC, PARTITIONS, RECORD_BYTES = "large", 4, 1000
SEGMENT_BYTES = 128 << 20
KILL_AT_SHARE = 1 / 3
LOOK_EVERY_S = 0.2

Rows = list[dict[str, Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=10.0)
    parser.add_argument("--codec", default="none", help="none, gzip, snappy, lz4 or zstd")
    given = parser.parse_args()
    records = int(given.gigabytes * 1e9 / RECORD_BYTES)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        logs = folder / "driver" / "logs"
        work = Workload(
            records=records, size=RECORD_BYTES, topic=TOPIC, partitions=PARTITIONS, codec=Codec[given.codec.upper()]
        )
        size = write_log_directory(work, str(logs), segment_bytes=SEGMENT_BYTES)
        print(f"{records:,} records, {size:,} bytes in {len(list(logs.rglob('*.log')))} segments", flush=True)
        check_rows(folder, logs, records, size)


def check_rows(folder: Path, logs: Path, records: int, size: int) -> None:
    log = folder / "driver.log"
    local = run_here(logs, log)
    report("one process, from the path", local, log)
    assert sum(row["rows"] for row in local) == records, local
    with (
        shown_by_webdav(logs) as (url, sent_bytes),
        spark_cluster(folder / "cluster", hidden=folder / "driver") as cluster,
    ):
        whole = rows_of(cluster.run_python([row_summary.__file__, cluster.url, url], log), log)
        report("two workers", whole, log)
        assert whole == local
        before = sent_bytes()
        running = cluster.run_python([row_summary.__file__, cluster.url, url], log)
        kill_when(lambda: sent_bytes() - before > size * KILL_AT_SHARE, running, cluster)
        killed = rows_of(running, log)
        report(f"one of two workers killed ({sent_bytes() - before:,} bytes sent)", killed, log)
        assert killed == local
    print("all three are equal", flush=True)


def run_here(logs: Path, log: Path) -> Rows:
    with log.open("wb") as out:
        words = [sys.executable, row_summary.__file__, "local[2]", str(logs)]
        return rows_of(subprocess.Popen(words, stdout=out, stderr=subprocess.STDOUT), log)


def kill_when(is_time: Callable[[], bool], running: subprocess.Popen[bytes], cluster: SparkCluster) -> None:
    """Kill the first worker then; the query has to be under way."""
    while not is_time():
        time.sleep(LOOK_EVERY_S)
        assert running.poll() is None, "it was over before the worker was killed"
    cluster.kill_worker(0)


def lines_of(log: Path) -> Rows:
    return [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]


def rows_of(process: subprocess.Popen[bytes], log: Path) -> Rows:
    """What a driver has printed of each partition."""
    assert process.wait() == 0, log.read_text()[-4000:]
    return [line for line in lines_of(log) if "rows" in line]


def report(what: str, rows: Rows, log: Path) -> None:
    taken = next(line["seconds"] for line in lines_of(log) if "seconds" in line)
    print(f"{what}: {sum(row['rows'] for row in rows):,} rows in {len(rows)} partitions, {taken:.1f} s", flush=True)
    for row in rows:
        print(f"  {row}", flush=True)


if __name__ == "__main__":
    main()
