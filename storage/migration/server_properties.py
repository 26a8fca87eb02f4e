"""The lines of server.properties that a node of Kafka needs for the migrated metadata."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..metadata.cluster_state import ClusterState

CONTROLLER = "CONTROLLER"
PROTOCOLS = f"{CONTROLLER}:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL"
"""Kafka requires the controllers' protocol as soon as a clients' listener is not PLAINTEXT (`KafkaConfig`, 3.9)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerNode:
    """A node, its log directories in order, and its addresses."""

    node_id: int
    directories: Sequence[str]
    host: str = "localhost"
    port: int = 9092
    controller_port: int = 9093


def server_properties(
    state: ClusterState,
    node: ServerNode,
    voters: Sequence[ServerNode],
    counts: Mapping[str, int],
    *,
    metadata_dir: str,
    brokers: int = 1,
    has_voters: bool = False,
) -> list[str]:
    """The lines that the node needs beside its own settings; `counts` are settings for numbers of partitions.

    `has_voters`: the metadata name the voters, so the lines only have bootstrap servers.
    """
    is_voter = any(each.node_id == node.node_id for each in voters)
    replicas = min(3, brokers)
    controller = f",{CONTROLLER}://{node.host}:{node.controller_port}" if is_voter else ""
    lines = [
        f"process.roles={'broker,controller' if is_voter else 'broker'}",
        f"node.id={node.node_id}",
        _quorum_line(voters, has_voters=has_voters),
        f"listeners=PLAINTEXT://{node.host}:{node.port}{controller}",
        f"controller.listener.names={CONTROLLER}",
        f"listener.security.protocol.map={PROTOCOLS}",
        f"log.dirs={','.join(node.directories)}",
        f"metadata.log.dir={metadata_dir}",
        *(f"{name}={count}" for name, count in counts.items()),
        f"offsets.topic.replication.factor={replicas}",
        f"transaction.state.log.replication.factor={replicas}",
        f"transaction.state.log.min.isr={min(2, replicas)}",
    ]
    if state.acls:
        lines.append("authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer")
    return lines


def _quorum_line(voters: Sequence[ServerNode], *, has_voters: bool) -> str:
    if has_voters:
        return "controller.quorum.bootstrap.servers=" + ",".join(
            f"{each.host}:{each.controller_port}" for each in voters
        )
    return "controller.quorum.voters=" + ",".join(
        f"{each.node_id}@{each.host}:{each.controller_port}" for each in voters
    )
