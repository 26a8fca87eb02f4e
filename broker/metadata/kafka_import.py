"""Taking over what another Kafka knew of a log directory: topic settings, dynamic broker settings, quotas, access
rules, producer ids.

A broker with KRaft keeps them in `__cluster_metadata-0`, which lies in the first log directory unless
`metadata.log.dir` puts it elsewhere. They are read once, when there is no metadata of our own yet. Topics count only
if they have a folder here. Where something cannot be read, what came before counts, but for access rules and SCRAM
passwords, since a rule that denies, or the removal of a password, may be among what is missing: where they are in
force the broker does not start.
"""

import logging

from ...config import BrokerSettings
from ...protocol.errors import DiskFault
from ...protocol.scram import HASHES
from ...storage.directories.cluster_state import ClusterState, StoredTopic
from ...storage.directories.kraft_metadata import (
    BROKER_RESOURCE,
    FOLDER,
    TOPIC_RESOURCE,
    KraftMetadata,
    read_kraft_metadata,
)
from ...storage.directories.log_manager import LogManager

log = logging.getLogger(__name__)


def take_over(state: ClusterState, log_manager: LogManager, node_id: int, settings: BrokerSettings) -> None:
    """Fills a new state with what KRaft's metadata says, if there are any.

    Raises: DiskFault, also for what cannot be read where access rules or passwords are in force.
    """
    for directory in log_manager.directories:
        folder = f"{directory}/{FOLDER}"
        metadata = read_kraft_metadata(log_manager.files, folder)
        if metadata is None:
            continue
        if metadata.fault and settings.authorizer_class_name:
            raise DiskFault(
                f"the access rules in {folder} cannot be taken over whole, so one that denies may be missing: "
                f"{metadata.fault}. Start Kafka on it once, so that it mends or refuses it; or move the folder away "
                "and set the rules anew with `stepdown acls add` as one of super.users; or start without "
                "authorizer.class.name, which takes over the rest without access rules and lets everybody do everything"
            )
        if metadata.fault and _has_scram(settings):
            raise DiskFault(
                f"the passwords in {folder} cannot be taken over whole, so the removal of one may be missing: "
                f"{metadata.fault}. Start Kafka on it once, so that it mends or refuses it; or move the folder away "
                "and set the passwords anew with `stepdown users set`; or start once without SCRAM in "
                "sasl.enabled.mechanisms, which takes over the rest without passwords"
            )
        if metadata.fault:
            metadata.acls.clear()
            metadata.scram_credentials.clear()
            log.warning(
                "%s can be read in part only, so access rules and passwords are not imported: %s",
                folder,
                metadata.fault,
            )
        _fill(state, metadata, log_manager, node_id)
        log.info("imported the settings of %d topics from %s", len(state.topics), folder)
        return


def _has_scram(settings: BrokerSettings) -> bool:
    listeners = settings.listener_security.values()
    return any(each.sasl is not None and set(each.sasl.mechanisms) & set(HASHES) for each in listeners)


def _fill(state: ClusterState, metadata: KraftMetadata, log_manager: LogManager, node_id: int) -> None:
    ids = {name: opened.topic_id for (name, _), opened in log_manager.logs.items()}
    for name, topic_id in metadata.topics.items():
        if name in ids and ids[name] in (None, topic_id):
            state.topics[name] = StoredTopic(
                topic_id=topic_id,
                partitions=max(1, metadata.partitions.get(topic_id, 0)),
                configs=metadata.configs.get((TOPIC_RESOURCE, name), {}),
            )
    state.cluster_configs = metadata.configs.get((BROKER_RESOURCE, ""), {})
    state.broker_configs = metadata.configs.get((BROKER_RESOURCE, str(node_id)), {})
    state.client_quotas = {entity: quotas for entity, quotas in metadata.quotas.items() if quotas}
    state.acls = frozenset(metadata.acls.values())
    state.scram_credentials = dict(metadata.scram_credentials)
    state.next_producer_id = metadata.next_producer_id
