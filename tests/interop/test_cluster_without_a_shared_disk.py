"""Jobs on a standalone Spark whose workers see neither the driver's files nor one another's: data is on S3."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import obstore
import pytest
from obstore.store import from_url
from stepdown.bench.servers.process import wait_until
from stepdown.pipeline.command import main
from stepdown.pipeline.workload.log_directory import write_log_directory
from stepdown.pipeline.workload.records import Workload
from stepdown.protocol.records.layout import Codec
from support.deadline import JOB_DEADLINE_S
from support.s3 import BUCKET, S3Server, s3_server
from support.spark_cluster import SparkCluster, spark_cluster

pytestmark = [pytest.mark.java, pytest.mark.slow]

RECORDS = 200_000
SEGMENT_BYTES = 4_000_000


class Site(NamedTuple):
    cluster: SparkCluster
    server: S3Server
    source: str
    folder: Path

    def words(self, job: str, out: str | None = None) -> list[str]:
        places = {"census": [self.source], "convert": [self.source, out], "archive": [self.source, out]}[job]
        more = ["--magic", "1"] if job == "convert" else []
        return [job, *map(str, places), *more, "--json", *self.server.job_options]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """Three partitions in gzip, and a cluster that sees nothing of `tmp_path`."""
    hidden = tmp_path / "driver"
    work = Workload(records=RECORDS, size=500, partitions=3, codec=Codec.GZIP, keys="uniform")
    write_log_directory(work, str(hidden / "logs"), segment_bytes=SEGMENT_BYTES)
    with s3_server() as server, spark_cluster(tmp_path / "cluster", hidden=hidden) as cluster:
        yield Site(cluster, server, server.upload(hidden / "logs", "logs"), hidden)


def succeed(process: subprocess.Popen[bytes], log: Path) -> list[dict[str, object]]:
    assert process.wait(JOB_DEADLINE_S) == 0, log.read_text()[-4000:]
    return [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]


def objects(server: S3Server, prefix: str) -> dict[str, bytes]:
    """The objects below the prefix."""
    config = {name: value for name, value in server.options.items() if name.startswith("aws_")}
    store = from_url(f"s3://{BUCKET}", config=config, client_options={"allow_http": True})
    found = [each["path"] for batch in obstore.list(store, prefix=f"{prefix}/") for each in batch]
    return {path.removeprefix(f"{prefix}/"): bytes(obstore.get(store, path).bytes()) for path in sorted(found)}


def contents(server: S3Server, prefix: str) -> dict[str, bytes]:
    """The segments or Parquet parts below the prefix, without what is noted of the run."""
    return {
        path: data
        for path, data in objects(server, prefix).items()
        if not path.rpartition("/")[2].startswith("_") and "manifest" not in path and ".json" not in path
    }


def test_census_convert_and_archive_run_unchanged_and_a_killed_worker_changes_nothing(
    site: Site, capfd: pytest.CaptureFixture[str]
) -> None:
    log = site.folder / "job.log"
    census = succeed(site.cluster.run(site.words("census"), log), log)
    for job in ("convert", "archive"):
        succeed(site.cluster.run(site.words(job, f"s3://{BUCKET}/{job}-whole"), log), log)
    here = [json.loads(line) for line in alone(site, "census", None, capfd)]
    assert rows(census) == rows(here)
    for job in ("convert", "archive"):
        alone(site, job, f"s3://{BUCKET}/{job}-here", capfd)
        whole = contents(site.server, f"{job}-whole")
        assert len(whole) > 2
        assert whole == contents(site.server, f"{job}-here"), job
    running = site.cluster.run(site.words("convert", f"s3://{BUCKET}/convert-killed"), log)
    wait_until(
        lambda: any(path.endswith(".log") for path in objects(site.server, "convert-killed")),
        "a segment",
        timeout_s=JOB_DEADLINE_S,
    )
    site.cluster.kill_worker(0)
    assert running.poll() is None, "it was over before the worker was killed"
    succeed(running, log)
    assert contents(site.server, "convert-killed") == contents(site.server, "convert-whole")


def alone(site: Site, job: str, out: str | None, capfd: pytest.CaptureFixture[str]) -> list[str]:
    """What the job prints in one process."""
    capfd.readouterr()
    assert main([*site.words(job, out), "--master", "local[2]"]) == 0
    return [line for line in capfd.readouterr().out.splitlines() if line.startswith("{")]


def rows(printed: list[dict[str, object]]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True) for row in printed)
