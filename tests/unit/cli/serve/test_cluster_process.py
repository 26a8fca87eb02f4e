from pathlib import Path

import pytest
from stepdown.cli.serve.broker_process import BrokerOptions, load_settings
from stepdown.cli.serve.cluster_process import make_cluster
from stepdown.client.errors import ClientError
from stepdown.config import load
from stepdown.protocol.errors import DiskFault
from stepdown.testing.elsewhere import connect
from stepdown.testing.process import RunningProcess


async def test_each_broker_has_a_port_and_a_directory_of_its_own(tmp_path: Path) -> None:
    texts = ["listeners=PLAINTEXT://127.0.0.1:0", f"log.dirs={tmp_path}", "min.insync.replicas=2"]
    cluster = make_cluster(3, load(overrides=texts), lambda more: load(overrides=[*texts, *more]))
    async with cluster:
        assert len({broker.address.port for broker in cluster.brokers.values()}) == 3
        assert {broker.cluster.node_id for broker in cluster.brokers.values()} == {1, 2, 3}
        assert len({broker.cluster.cluster_id for broker in cluster.brokers.values()}) == 1
    for node_id in (1, 2, 3):
        assert (tmp_path / f"broker-{node_id}" / "meta.properties").stat().st_size


def test_ports_that_are_given_are_counted_up(tmp_path: Path) -> None:
    texts = ["listeners=PLAINTEXT://127.0.0.1:19092", f"log.dirs={tmp_path}"]
    cluster = make_cluster(2, load(overrides=texts), lambda more: load(overrides=[*texts, *more]))
    listeners = [member.loaded.settings.listeners[0] for member in cluster._members.values()]
    assert [(each.host, each.port) for each in listeners] == [("127.0.0.1", 19092), ("127.0.0.1", 19093)]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("meta.properties", "is the log directory of one broker, not the folder of a cluster: serve it without"),
        (f"{0:020d}.log", "is the folder of a partition, not a log directory"),
        ("version-2/log.1", "has files of ZooKeeper"),
    ],
)
def test_a_folder_that_is_something_else_is_not_made_that_of_a_cluster(tmp_path: Path, name: str, said: str) -> None:
    """Fault: brokers were made in the log directory of one broker, which did not start on it after that."""
    file = tmp_path / "data" / name
    file.parent.mkdir(parents=True)
    file.write_bytes(b"")
    texts = ["listeners=PLAINTEXT://127.0.0.1:0", f"log.dirs={tmp_path / 'data'}"]
    with pytest.raises(DiskFault, match=said):
        make_cluster(2, load(overrides=texts), lambda more: load(overrides=[*texts, *more]))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [file]


def test_one_control_port_is_for_all_brokers() -> None:
    with RunningProcess(brokers=3, config={"min.insync.replicas": 2, "default.replication.factor": 3}) as kafka:
        kafka.create_topic("t")
        fault = kafka.faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", client_id="nobody", optional=True)
        kafka.cluster.kill(leader_of="t")
        kafka.clock.advance("10s")
        kafka.produce("t", b"a")
        kafka.cluster.start()
        assert [record.value for record in kafka.records("t")] == [b"a"]
        assert fault.hits == 0
        assert kafka.partition("t").leader > 0


@pytest.mark.parametrize("brokers", [1, 3])
def test_brokers_are_in_the_racks_that_are_named(brokers: int) -> None:
    """Fault: one broker alone was in none."""
    racks = ["a", "b", "c"][:brokers]
    with RunningProcess(brokers=brokers, racks=racks) as kafka:
        assert [each["rack"] for each in kafka.control.ask("GET", "brokers")["brokers"]] == racks


def test_topics_of_a_cluster_have_replicas() -> None:
    """`serve --brokers 3` made topics with one replica, the fixture of the same cluster with three."""
    assert load_settings(BrokerOptions(brokers=3), {}).settings.default_replication_factor == 3
    assert load_settings(BrokerOptions(), {}).settings.default_replication_factor == 1
    chosen = BrokerOptions(brokers=3, overrides=["default.replication.factor=2"])
    assert load_settings(chosen, {}).settings.default_replication_factor == 2


@pytest.mark.parametrize("brokers", [1, 3])
def test_brokers_whose_disk_was_full_are_as_new_after_a_reset(brokers: int) -> None:
    """Fault: the log directory stayed offline, and the process ended when one broker could not go on."""
    with RunningProcess(brokers=brokers) as kafka:
        kafka.create_topic("t")
        kafka.faults.disk("full")
        with pytest.raises(ClientError):
            kafka.produce("t", b"a", timeout=0)
        kafka.clock.advance("1m")
        kafka.reset()
        kafka.create_topic("t")
        kafka.produce("t", b"a")
        assert [record.value for record in kafka.records("t")] == [b"a"]


def test_who_connects_after_a_reset_is_taken_though_the_clock_was_ahead() -> None:
    """Fault: the time until which connections came too fast was that of a clock that was ahead by days."""
    with RunningProcess() as kafka:
        for is_ahead in (True, False):
            if is_ahead:
                kafka.clock.advance("8d")
            with connect(kafka.bootstrap) as other:
                other.create_topic("t")
            kafka.reset()
