"""Decodes the data of a Kafka cluster in ZooKeeper.

    /cluster/id                 {"id": …}
    /config/topics/<topic>      {"config": {name: text}}; /config/brokers/<id> and <default> likewise
    /latest_producer_id_block   {"block_end": "1999"}
    /delegation_token/tokens    delegation tokens; their keys need the secret of the old brokers
    /consumers/<group>/offsets  groups of consumers before 0.9
    /migration                  exists if a KRaft controller has taken over

A cluster may be below a chroot. Source: Kafka 3.9 `ZkData`.
"""

from dataclasses import dataclass, field

from ...protocol.acls import Acl
from ...protocol.scram import ScramCredential
from ..metadata.cluster_state import QuotaEntity
from .znode_access import read_acls, read_quotas, read_scram_credentials
from .znode_json import MalformedZnode, parse_whole_number, read_object, read_texts
from .znode_topics import TOPICS, ZookeeperTopic, read_deleted_topics, read_topics, read_waiting_reassignments
from .znode_tree import ZnodeTree

CLUSTER_ID = "/cluster/id"
PRODUCER_IDS = "/latest_producer_id_block"
TOKENS = "/delegation_token/tokens"
MIGRATION = "/migration"
BROKERS = "/brokers/ids"
GROUPS = "/consumers"
DEFAULT_BROKER = "<default>"


@dataclass(slots=True, kw_only=True)
class KafkaCluster:
    """The whole data of a cluster. `next_producer_id`: above all ids that were handed out. `registered`: brokers that
    seem to be running. `groups`: those that kept their offsets in ZooKeeper."""

    cluster_id: str = ""
    topics: dict[str, ZookeeperTopic] = field(default_factory=dict)
    deleted_topics: frozenset[str] = frozenset()
    topic_configs: dict[str, dict[str, str]] = field(default_factory=dict)
    cluster_configs: dict[str, str] = field(default_factory=dict)
    configs_of_brokers: dict[int, dict[str, str]] = field(default_factory=dict)
    acls: list[Acl] = field(default_factory=list)
    passwords: dict[tuple[str, str], ScramCredential] = field(default_factory=dict)
    quotas: dict[QuotaEntity, dict[str, float]] = field(default_factory=dict)
    next_producer_id: int = 0
    delegation_tokens: int = 0
    waiting_reassignments: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    registered: list[int] = field(default_factory=list)
    is_migrating: bool = False


def find_cluster_tree(tree: ZnodeTree, cluster_id: str | None) -> ZnodeTree:
    """The tree of one cluster, below its chroot; of several, that with `cluster_id`. Raises: MalformedZnode."""
    ends = [path for path in tree.paths() if path.endswith(TOPICS)]
    found = [tree if path == TOPICS else tree.subtree(path.removesuffix(TOPICS)) for path in ends]
    if len(found) > 1:
        found = [each for each in found if read_object(each, CLUSTER_ID).get("id") == cluster_id]
    if len(found) != 1:
        raise MalformedZnode(
            f"no cluster of Kafka is in this ZooKeeper: {TOPICS} expected, alone or below a chroot, which a live one "
            "has to be asked for (HOST:PORT/CHROOT)"
            if not ends
            else f"this ZooKeeper has {len(ends)} clusters of Kafka, and {len(found)} of them have the id {cluster_id}"
        )
    return found[0]


def read_cluster(tree: ZnodeTree) -> KafkaCluster:
    """Decodes the data of the cluster. Raises: MalformedZnode."""
    brokers = _read_configs(tree, "brokers")
    cluster_configs = brokers.pop(DEFAULT_BROKER, {})
    return KafkaCluster(
        cluster_id=str(read_object(tree, CLUSTER_ID).get("id", "")),
        topics=read_topics(tree),
        deleted_topics=read_deleted_topics(tree),
        topic_configs=_read_configs(tree, "topics"),
        cluster_configs=cluster_configs,
        configs_of_brokers={parse_whole_number("/config/brokers", name): configs for name, configs in brokers.items()},
        acls=read_acls(tree),
        passwords=read_scram_credentials(tree),
        quotas=read_quotas(tree),
        next_producer_id=_next_producer_id(tree),
        delegation_tokens=len(tree.children(TOKENS)),
        waiting_reassignments=read_waiting_reassignments(tree),
        groups=[name for name in tree.children(GROUPS) if tree.children(f"{GROUPS}/{name}/offsets")],
        registered=[parse_whole_number(BROKERS, name) for name in tree.children(BROKERS)],
        is_migrating=MIGRATION in tree,
    )


def _read_configs(tree: ZnodeTree, kind: str) -> dict[str, dict[str, str]]:
    found = {}
    for name in tree.children(f"/config/{kind}"):
        path = f"/config/{kind}/{name}"
        configs = read_texts(path, read_object(tree, path).get("config", {}))
        if configs:
            found[name] = configs
    return found


def _next_producer_id(tree: ZnodeTree) -> int:
    block = read_object(tree, PRODUCER_IDS)
    return parse_whole_number(PRODUCER_IDS, block["block_end"]) + 1 if "block_end" in block else 0
