"""Takes topics, topic ids, access rules, users and quotas of a ZooKeeper over, for `stepdown topics adopt`."""

from __future__ import annotations

from collections.abc import Sequence

from ...config import TOPIC_KEYS
from ...protocol.errors import DiskFault
from ...storage.directories.log_directory import log_folders
from ...storage.files.files import Files
from ...storage.files.partition_metadata import read_topic_id, write_topic_id
from ...storage.metadata.cluster_state import ClusterState
from ...storage.metadata.metadata_log_contents import FOLDER as METADATA_FOLDER
from ...storage.metadata.metadata_store import DOCUMENT
from ...storage.migration.plan_making import drop_unreadable_settings, number_acls
from ...storage.migration.release_preparation import RELEASES, ReleasePreparation
from ...storage.zookeeper.kafka_cluster import KafkaCluster
from ..support.failures import CommandFailure
from .kafka_tool_output import DescribedTopic, ToolOutput

AS_SERVED = "3.9"
"""The release whose limits apply to settings."""


def make_tool_output(cluster: KafkaCluster, lines: list[str]) -> ToolOutput:
    """Returns the topics that are not being deleted; appends to `lines` one for each setting that is left out."""
    found = ToolOutput()
    limits = ReleasePreparation(release=RELEASES[AS_SERVED], lines=lines)
    for name, topic in cluster.topics.items():
        if name not in cluster.deleted_topics:
            within = limits.adapt_topic_configs(name, cluster.topic_configs.get(name, {}))
            configs = drop_unreadable_settings(name, within, lines, has_tiers=False)
            unknown = [key for key in configs if key not in TOPIC_KEYS]
            lines += [f"{name}: {key} is left out, no topic has such a setting" for key in unknown]
            known = {key: value for key, value in configs.items() if key not in unknown}
            found.topics[name] = DescribedTopic(partitions=len(topic.partitions), configs=known)
    return found


def add_access(state: ClusterState, cluster: KafkaCluster) -> list[str]:
    """Adds access rules, passwords, quotas and the next producer id to the state, without overwriting. Returns lines on
    what was added."""
    rules = {acl: acl_id for acl, acl_id in number_acls(cluster.acls).items() if acl not in state.acls}
    passwords = {key: each for key, each in cluster.passwords.items() if key not in state.scram_credentials}
    quotas = {key: each for key, each in cluster.quotas.items() if key not in state.client_quotas}
    state.acls = {**state.acls, **rules}
    state.scram_credentials = {**state.scram_credentials, **passwords}
    state.client_quotas |= quotas
    state.next_producer_id = max(state.next_producer_id, cluster.next_producer_id)
    found = ((len(rules), "access rules"), (len(passwords), "passwords of users"), (len(quotas), "quotas"))
    return [f"{count} {what} of ZooKeeper" for count, what in found if count]


def write_topic_ids(log_dirs: Sequence[str], cluster: KafkaCluster) -> None:
    """Writes topic ids into folders without one, before these are taken over. Raises: CommandFailure.

    Does nothing if a directory has metadata, which has the ids already.
    """
    files = Files()
    if any(files.exists(f"{path}/{name}") for path in log_dirs for name in (METADATA_FOLDER, DOCUMENT)):
        return
    try:
        for path in log_dirs:
            for folder, name in log_folders(files, path):
                topic = cluster.topics.get(name.topic)
                if topic is not None and topic.topic_id and not name.suffix and read_topic_id(files, folder) is None:
                    write_topic_id(files, folder, topic.topic_id)
    except DiskFault as fault:
        raise CommandFailure(str(fault)) from fault
