"""A real Prometheus scrapes a broker that has everything to do; every query of the dashboard brings data."""

import json
import shutil
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from stepdown.bench.load.produce_and_fetch_requests import Filling, batches_of
from stepdown.bench.servers.ports import free_port
from stepdown.bench.servers.process import Process
from support.broker import Stepdown
from support.clients_raw import FetchAsk, Raw, wait_until
from support.deadline import DEADLINE_S
from support.docker_files import DOCKER, dashboard_queries
from support.group_commits import commit_offset

RATE_INTERVAL = "10s"
SCRAPES = 4
PLAIN = Filling(partitions=1, partition_bytes=100_000, record_bytes=1000)
OLD = Filling(partitions=1, partition_bytes=100_000, record_bytes=1000, magic=1)

needs_prometheus = pytest.mark.skipif(
    shutil.which("prometheus") is None, reason="not installed: prometheus (Debian: apt-get install prometheus)"
)


@needs_prometheus
def test_the_configuration_is_sound() -> None:
    done = subprocess.run(
        ["promtool", "check", "config", DOCKER / "prometheus/prometheus.yml"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


@needs_prometheus
def test_alerts_ring_when_they_should() -> None:
    done = subprocess.run(
        ["promtool", "test", "rules", DOCKER / "prometheus/rules_test.yml"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


class Prometheus:
    """Prometheus with the configuration of docker/, but for the target and the pace."""

    def __init__(self, folder: Path, target: str) -> None:
        shutil.copytree(DOCKER / "prometheus", folder / "etc")
        config = folder / "etc/prometheus.yml"
        config.write_text(config.read_text().replace("broker:9308", target).replace(" 5s", " 1s"))
        self.address = f"127.0.0.1:{free_port()}"
        command = ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder / 'tsdb'}"]
        self.process = Process([*command, f"--web.listen-address={self.address}"], folder / "prometheus.out")

    def ask(self, query: str) -> list[dict[str, object]]:
        """The samples of an instant query, those that are not a number left out."""
        url = f"http://{self.address}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
        with urllib.request.urlopen(url, timeout=DEADLINE_S) as answer:
            result = json.load(answer)["data"]["result"]
        return [sample for sample in result if sample["value"][1] != "NaN"]

    def scrapes(self) -> float:
        try:
            samples = self.ask('sum(count_over_time(up{job="stepdown"}[1h]))')
        except OSError:
            return 0
        return float(samples[0]["value"][1]) if samples else 0  # type: ignore[index]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stepdown]:
    settings = {"offsets.topic.num.partitions": "1", "log.flush.scheduler.interval.ms": "200"}
    settings["log.cleaner.backoff.ms"] = "200"
    with Stepdown(tmp_path_factory.mktemp("broker"), properties=settings) as started:
        yield started


def work(address: str) -> None:
    """A little of everything: writes, old and new reads, refusals, errors, a group that lags."""
    with Raw(address) as client:
        client.produce(3, "plain", batches_of(PLAIN, 1)[0])
        client.produce(2, "plain", batches_of(OLD, 1)[0])
        client.produce(3, "zstd", batches_of(PLAIN, 1)[0])
        for version in (0, 2, 4):
            client.fetch(version, [FetchAsk(topic="plain")])
            client.fetch(version, [FetchAsk(topic="zstd"), FetchAsk(topic="nowhere")])
        commit_offset(client, "billing", "plain", 1)
    with Raw(address):
        pass


@needs_prometheus
def test_every_query_of_the_dashboard_brings_data(broker: Stepdown, tmp_path: Path) -> None:
    broker.create_topic("plain", configs={"flush.ms": "1"})
    broker.create_topic("zstd", configs={"compression.type": "zstd"})
    work(broker.address)
    prometheus = Prometheus(tmp_path, broker.http)
    try:
        wait_until(lambda: (work(broker.address), prometheus.scrapes() >= SCRAPES)[1], "Prometheus has scraped")
        silent = [name for name, query in dashboard_queries(RATE_INTERVAL).items() if not prometheus.ask(query)]
        assert silent == []
    finally:
        prometheus.process.stop()


@needs_prometheus
def test_the_metrics_are_written_as_prometheus_likes_them(broker: Stepdown) -> None:
    with urllib.request.urlopen(f"http://{broker.http}/metrics", timeout=DEADLINE_S) as page:
        text = page.read()
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
