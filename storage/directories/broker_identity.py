"""The node id and cluster id of a broker, read from its log directories, which all have to agree.

Source: Kafka 3.9 `MetaPropertiesEnsemble.verify`, `BrokerMetadataCheckpoint`.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import uuid4

from ...protocol.errors import DiskFault
from ..files.files import Files
from ..files.partition_metadata import encode_uuid
from .directory_check import has_broker_files
from .log_directory import LogDirectory
from .meta_properties import FILE_NAME, MetaProperties, write_meta_properties

if TYPE_CHECKING:
    from ...config.settings import BrokerSettings

DEFAULT_NODE_ID = 1
MEND = "leave the directory of another broker out of log.dirs, or take the setting back"

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerIdentity:
    """The ids of a broker; None for one that is not known."""

    node_id: int | None = None
    cluster_id: str | None = None


def identity_from_settings(settings: "BrokerSettings") -> BrokerIdentity:
    """The ids that the settings give."""
    return BrokerIdentity(
        node_id=settings.broker_id if settings.broker_id >= 0 else None, cluster_id=settings.stepdown_cluster_id
    )


def agree_on_identity(files: Files, directories: Sequence[LogDirectory], wanted: BrokerIdentity) -> BrokerIdentity:
    """The identity that the directories and the settings agree on; an id that none of them has is made up.

    It is written into the directories, except into new ones beside used ones (`new_directories`): such a directory may
    be the mount point of a disk that is not mounted. Raises: DiskFault when they disagree.
    """
    known = wanted
    for directory in directories:
        if directory.meta is not None:
            known = merge_identity(known, directory.meta, f"{directory.path}/{FILE_NAME}")
    settled = BrokerIdentity(
        node_id=DEFAULT_NODE_ID if known.node_id is None else known.node_id,
        cluster_id=encode_uuid(uuid4()) if known.cluster_id is None else known.cluster_id,
    )
    new = new_directories(directories)
    for directory in [each for each in directories if each not in new]:
        mark_directory(files, directory, settled)
    return settled


def new_directories(directories: Sequence[LogDirectory]) -> list[LogDirectory]:
    """The directories that no broker has used yet; none if that is so of all of them."""
    unmarked = [directory for directory in directories if directory.meta is None]
    return unmarked if len(unmarked) < len(directories) else []


def merge_identity(known: BrokerIdentity, meta: MetaProperties, path: str) -> BrokerIdentity:
    """`known`, completed from `meta`, which was read from `path`. Raises: DiskFault when they contradict each other."""
    if meta.node_id >= 0:
        if known.node_id not in (None, meta.node_id):
            raise DiskFault(
                f"{path}: node {meta.node_id}, but the settings or another log directory say {known.node_id}; {MEND}"
            )
        known = replace(known, node_id=meta.node_id)
    if meta.cluster_id is not None:
        if known.cluster_id not in (None, meta.cluster_id):
            raise DiskFault(
                f"{path}: cluster {meta.cluster_id}, but the settings or another log directory say {known.cluster_id}; "
                f"{MEND}"
            )
        known = replace(known, cluster_id=meta.cluster_id)
    return known


def mark_directory(files: Files, directory: LogDirectory, identity: BrokerIdentity) -> None:
    """Writes `identity` into the directory's meta.properties. Raises: DiskFault."""
    assert identity.node_id is not None
    meta = directory.meta
    directory_id = meta.directory_id if meta is not None else None
    wanted = MetaProperties(
        version=1, node_id=identity.node_id, cluster_id=identity.cluster_id, directory_id=directory_id or uuid4()
    )
    if meta == wanted:
        return
    if meta is None and has_broker_files(files, directory.path):
        _logger.warning(
            "%s has no %s although a broker has used it: it is taken for node %d of the cluster %s. Where that is "
            "wrong, stop, remove the file and set broker.id and stepdown.cluster.id", directory.path, FILE_NAME,
            wanted.node_id, wanted.cluster_id)  # fmt: skip
    if meta is not None and meta.version == 0:
        _logger.info(
            "%s/%s is version 1 now, as KRaft has it; a broker with ZooKeeper needs version=0, broker.id=%d and "
            "cluster.id=%s there", directory.path, FILE_NAME, wanted.node_id, wanted.cluster_id)  # fmt: skip
    directory.meta = wanted
    write_meta_properties(files, directory.path, wanted)
