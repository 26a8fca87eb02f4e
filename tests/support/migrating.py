"""Log directories as brokers with ZooKeeper left them, made by hand, and plans for them."""

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from stepdown.protocol.records.layout import Codec
from stepdown.storage.files.files import Files
from stepdown.storage.migration.directory_survey import survey_broker
from stepdown.storage.migration.migration_plan import MigrationPlan
from stepdown.storage.migration.plan_application import PlanApplication
from stepdown.storage.migration.plan_document import read_plan, write_plan
from stepdown.storage.migration.plan_from_disks import plan_from_disks
from stepdown.storage.migration.plan_making import PlanMaking
from stepdown.storage.migration.plan_reversal import PlanReversal
from stepdown.storage.zookeeper.kafka_cluster import KafkaCluster, read_cluster
from stepdown.storage.zookeeper.znode_tree import ZnodeTree

from .log_directories import keyed_records, write_batches
from .zookeeper_files import kafka_nodes, with_parents

CLUSTER_ID = "Q2x6TqCvQ1KJPgMHkWsTVw"
NOW = 1_700_000_000_000

Partition = tuple[list[int], int, int, list[int]]
"""Replicas, leader, leader epoch, ISR."""


def write_directory(path: Path, broker_id: int, *, cluster_id: str = CLUSTER_ID, locked: bool = True) -> Path:
    """An empty log directory with `meta.properties` of version 0 and what else a broker leaves."""
    path.mkdir(parents=True)
    (path / "meta.properties").write_text(f"#\nversion=0\nbroker.id={broker_id}\ncluster.id={cluster_id}\n")
    for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
        (path / name).write_text("0\n0\n")
    (path / ".kafka_cleanshutdown").touch()
    if locked:
        (path / ".lock").touch()
    return path


def write_replica(
    path: Path,
    topic: str,
    partition: int,
    records: int = 20,
    *,
    epochs: Sequence[tuple[int, int]] = (),
    magic: int = 2,
    codec: Codec = Codec.NONE,
    base: int = 0,
) -> Path:
    """The folder of a partition with batches of ten records, in the last of `epochs` (epoch, start offset).

    With `base` the segment that begins there is added to those that are there.
    """
    fields: dict[str, Any] = {"magic": magic, "codec": codec}
    if magic == 2 and epochs:
        fields["partition_leader_epoch"] = epochs[-1][0]
    batches = [keyed_records(first, 10) for first in range(base, base + records, 10)]
    write_batches(path, topic, partition, batches, base=base, **fields)
    lines = [f"{epoch} {start}" for epoch, start in epochs]
    folder = path / f"{topic}-{partition}"
    (folder / "leader-epoch-checkpoint").write_text("\n".join(["0", str(len(lines)), *lines, ""]))
    return folder


def cluster_of(topics: Mapping[str, list[Partition]], more: Mapping[str, bytes] | None = None) -> KafkaCluster:
    """What ZooKeeper has of it."""
    return read_cluster(ZnodeTree(with_parents({**kafka_nodes(topics, CLUSTER_ID), **(more or {})})))


ODD_SETTINGS = {
    "segment.bytes": ("14", "20000", "1073741824", "x"),
    "segment.ms": ("0", "1", "604800000"),
    "retention.ms": ("-7", "-1", "0", "9223372036854775807"),
    "flush.messages": ("0", "7"),
    "segment.index.bytes": ("0", "4"),
    "cleanup.policy": ("compact", "delete", "compact,delete"),
    "message.format.version": ("0.9.0", "2.8-IV1"),
    "message.timestamp.difference.max.ms": ("0", "9223372036854775807"),
    "min.cleanable.dirty.ratio": ("0", "1", "2"),
}
"""Of topics, at the ends of their ranges and beyond."""


def random_settings(dice: Random) -> dict[str, str]:
    return {key: dice.choice(ODD_SETTINGS[key]) for key in dice.sample(sorted(ODD_SETTINGS), 3)}


@dataclass
class Migration:
    """Brokers with their directories, and the plan for them in a file."""

    folder: Path
    brokers: dict[int, list[Path]]
    cluster: KafkaCluster | None
    release: str = "4.4"
    files: Files = field(default_factory=Files)
    said: list[str] = field(default_factory=list)

    @property
    def path(self) -> Path:
        return self.folder / "plan.yaml"

    def plan(self) -> MigrationPlan:
        """The plan, as it is read back from the file."""
        files = Files(read_only=True)
        found = {key: survey_broker(files, key, [str(each) for each in paths]) for key, paths in self.brokers.items()}
        if self.cluster is None:
            made = plan_from_disks(found, self.release, NOW)
        else:
            made = PlanMaking(found, self.release, NOW).make(self.cluster, "a test")
        made.brokers = {key: replace(each, host=f"host-{key}") for key, each in made.brokers.items()}
        write_plan(Files(), str(self.path), made)
        return self.read()

    def read(self) -> MigrationPlan:
        return read_plan(Files(read_only=True), str(self.path))

    def edit(self, before: str, after: str) -> None:
        """Changes the text of the plan, as a person does."""
        text = self.path.read_text()
        assert before in text
        self.path.write_text(text.replace(before, after))

    def apply(self, files: Files | None = None) -> None:
        PlanApplication(files or self.files, self.read(), self.said.append).apply()

    def undo(self, files: Files | None = None) -> None:
        PlanReversal(files or self.files, self.read(), self.said.append).undo()

    def contents(self) -> dict[str, tuple[bytes, int]]:
        """Bytes and time of every file of all directories."""
        roots = [path for paths in self.brokers.values() for path in paths]
        return contents(roots)

    def copy(self, folder: Path) -> "Migration":
        """The same, elsewhere; only before it is planned."""
        moved = {key: [folder / path.relative_to(self.folder) for path in paths] for key, paths in self.brokers.items()}
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        return Migration(folder, moved, self.cluster, self.release)


def set_hosts(plan: Path) -> None:
    """Give each broker of a plan a host of its own, as a person does."""
    numbers = count(1)
    plan.write_text(re.sub('host: "localhost"', lambda _: f'host: "host-{next(numbers)}"', plan.read_text()))


def contents(roots: Sequence[Path]) -> dict[str, tuple[bytes, int]]:
    """Bytes and time of every file below the folders; folders are there, too."""
    found = {}
    for root in roots:
        for path in root.rglob("*"):
            found[str(path)] = (b"", 0) if path.is_dir() else (path.read_bytes(), path.stat().st_mtime_ns)
    return found
