"""Reads Kafka's data from the ZooKeeper of the command line: a live one, or its data directory at rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...protocol.errors import DiskFault
from ...storage.files.files import Files
from ...storage.zookeeper.data_directory import read_data_directory
from ...storage.zookeeper.kafka_cluster import KafkaCluster, find_cluster_tree, read_cluster
from ...storage.zookeeper.live_zookeeper import LiveZookeeperFault, read_live_zookeeper
from .failures import CommandFailure


@dataclass(frozen=True, slots=True, kw_only=True)
class ZookeeperReading:
    """The result of reading a ZooKeeper. `notes`: what was skipped. `gaps`: what may be missing or out of date."""

    cluster: KafkaCluster
    name: str
    notes: Sequence[str] = ()
    gaps: Sequence[str] = ()


def read_zookeeper(hosts: str | None, data: str | None, cluster_id: str | None) -> ZookeeperReading:
    """Reads from running `hosts` or from `data` directories. With several clusters there, `cluster_id` chooses one.

    Raises: CommandFailure.
    """
    try:
        if hosts is not None:
            cluster = read_cluster(find_cluster_tree(read_live_zookeeper(hosts), cluster_id))
            return ZookeeperReading(cluster=cluster, name=f"ZooKeeper at {hosts}", gaps=_describe_sessions(cluster))
        paths = (data or "").split(",")
        found = read_data_directory(Files(read_only=True), paths)
        cluster = read_cluster(find_cluster_tree(found.tree, cluster_id))
        return ZookeeperReading(
            cluster=cluster,
            name=f"ZooKeeper's files in {data}, up to transaction {found.zxid:#x}",
            notes=[*found.notes, *_describe_sessions(cluster)],
            gaps=found.gaps,
        )
    except LiveZookeeperFault as fault:
        raise CommandFailure(str(fault)) from fault
    except DiskFault as fault:
        raise CommandFailure(str(fault), "Nothing was changed.") from fault


def _describe_sessions(cluster: KafkaCluster) -> list[str]:
    """Returns a line if brokers have a session: they run, or have ended within the session timeout."""
    if not cluster.registered:
        return []
    return [
        f"the brokers {cluster.registered} had a session when ZooKeeper was read: if they run, an ISR may have changed "
        "since. Stop them, wait for the end of their sessions, and do this again"
    ]
