"""The control's operations on topics, groups and their members."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...protocol.coordinator.consumer_protocol import partitions_in_assignment
from ...protocol.coordinator.partitioning import partition_of
from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig
from ...protocol.plural import plural
from ..groups.classic.group import ClassicGroup
from ..handlers.create_topics import create_topic
from ..metadata.partition import Partition
from ..metadata.topic_rules import OFFSETS_TOPIC, TRANSACTION_TOPIC
from .control_operation import Answer, ControlOperation, Fields, Reader
from .fault_fields import WrongFault
from .fetched_partitions import FetchedPartitions, TopicPartition
from .field_parsers import parse_count, parse_duration_ms, parse_int, parse_name, parse_positive

if TYPE_CHECKING:
    from ..services import Services

TIMEOUT_MS = 10_000
COORDINATORS = {OFFSETS_TOPIC, TRANSACTION_TOPIC}
STABLE = "Stable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A member of a group, and its assigned partitions."""

    member_id: str
    client_id: str
    partitions: list[TopicPartition]


class TopicAndGroupOperations:
    """The operations of a control on topics and groups. `running` returns the brokers that run."""

    def __init__(self, running: Callable[[], Iterable["Services"]]) -> None:
        self.fetched = FetchedPartitions()
        self._running = running

    def control_operations(self) -> list[ControlOperation]:
        """The operations of the control port on topics and groups."""
        group: dict[str, Reader] = {"group": parse_name}
        return [
            ControlOperation(
                path="topics/describe",
                what="Shows the partitions of a topic as the brokers know them, none where there is no such topic.",
                act=self._describe_topic,
                fields={"topic": parse_name},
                needs=("topic",),
            ),
            ControlOperation(
                method="GET",
                path="brokers",
                what="Lists the brokers that run, and which of them clients take for the controller.",
                act=self._list_brokers,
            ),
            ControlOperation(
                path="coordinators/find",
                what="Names the broker that coordinates a `group` or a `transactional_id`, -1 where there is none.",
                act=self._find_coordinator,
                fields={**group, "transactional_id": parse_name},
            ),
            ControlOperation(
                path="topics/create",
                what="Creates a topic, of one partition where no number is given.",
                act=self._create_topic,
                fields={
                    "topic": parse_name,
                    "partitions": parse_positive,
                    "replication_factor": parse_int,
                    "config": _parse_configs,
                },
                needs=("topic",),
            ),
            ControlOperation(
                path="topics/delete",
                what="Deletes a topic with its records.",
                act=self._delete_topic,
                fields={"topic": parse_name},
                needs=("topic",),
            ),
            ControlOperation(
                path="groups/delete",
                what="Deletes a group that has no members, with its offsets.",
                act=self._delete_group,
                fields=group,
                needs=("group",),
            ),
            ControlOperation(
                path="groups/wait",
                what="Waits until a group has `members` (1) that fetch from all partitions, for `timeout` (10s).",
                act=self._wait_for_group,
                fields={**group, "members": parse_count, "timeout": parse_duration_ms},
                needs=("group",),
            ),
        ]

    def _any_broker(self) -> "Services":
        for broker in self._running():
            return broker
        raise ApiError("no broker runs: start one", ErrorCode.BROKER_NOT_AVAILABLE)

    # Topics

    async def _create_topic(self, fields: Fields) -> Answer:
        topic = CreatableTopic(
            name=fields["topic"],
            num_partitions=fields.get("partitions", 1),
            replication_factor=fields.get("replication_factor", -1),
            configs=tuple(CreatableTopicConfig(name=key, value=text) for key, text in fields.get("config", {}).items()),
        )
        await create_topic(self._any_broker(), topic)
        return {"topic": topic.name, "partitions": topic.num_partitions}

    async def _delete_topic(self, fields: Fields) -> Answer:
        topic, broker = fields["topic"], self._any_broker()
        if topic not in broker.cluster.topics:
            raise ApiError(f"there is no topic {topic}", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        _raise_first(await broker.topics.delete([topic]))
        return {"topic": topic}

    async def _describe_topic(self, fields: Fields) -> Answer:
        topic, brokers = fields["topic"], [self._any_broker(), *self._running()]
        indexes = {index for each in brokers if topic in each.cluster.topics for index in _partitions(each, topic)}
        return {"topic": topic, "partitions": [self._describe_partition(topic, index) for index in sorted(indexes)]}

    def _describe_partition(self, topic: str, index: int) -> Answer:
        """As its leader knows it, or the broker that knows the latest epoch."""
        known = [
            (broker, _partitions(broker, topic)[index])
            for broker in self._running()
            if topic in broker.cluster.topics and index in _partitions(broker, topic)
        ]
        broker, latest = max(
            known, key=lambda each: (each[1].leader_epoch, each[1].leader_id == each[0].cluster.node_id)
        )
        return {
            "partition": index,
            "leader": broker.cluster.leader_of(latest),
            "leader_epoch": latest.leader_epoch,
            "replicas": list(latest.replicas),
            "isr": list(latest.isr),
            "logs": [
                {
                    "broker": each.cluster.node_id,
                    "log_start_offset": own.log.log_start_offset,
                    "log_end_offset": own.log.log_end_offset,
                    "high_watermark": own.high_watermark,
                }
                for each, own in known
                if own.is_here
            ],
        }

    async def _list_brokers(self, fields: Fields) -> Answer:
        running = list(self._running())
        shown = [{"broker": each.cluster.node_id, "rack": each.settings.broker_rack} for each in running]
        return {"controller": running[0].cluster.controller_id if running else -1, "brokers": shown}

    async def _find_coordinator(self, fields: Fields) -> Answer:
        topic, index = self.coordinating_partition(fields)
        found = (await self._describe_topic({"topic": topic}))["partitions"]
        return {"coordinator": found[index]["leader"] if found else -1}

    def coordinating_partition(self, fields: Fields) -> TopicPartition:
        """The partition whose leader coordinates a `group` or a `transactional_id`. Raises: WrongFault."""
        if ("group" in fields) == ("transactional_id" in fields):
            raise WrongFault("group or transactional_id is to be given, and one of them only")
        own, topic = (
            (fields["group"], OFFSETS_TOPIC) if "group" in fields else (fields["transactional_id"], TRANSACTION_TOPIC)
        )
        known = self._any_broker().cluster.topics.get(topic)
        return topic, 0 if known is None else partition_of(own, len(known.partitions))

    async def delete_all(self) -> None:
        """Deletes all topics, also those of the coordinators, which then forget groups and transactions."""
        broker = self._any_broker()
        names = set(broker.cluster.topics)
        _raise_first(await broker.topics.delete(sorted(names - COORDINATORS)))
        _raise_first(await broker.topics.delete(sorted(names & COORDINATORS)))
        self.fetched = FetchedPartitions()

    # Groups

    async def _delete_group(self, fields: Fields) -> Answer:
        group = fields["group"]
        broker = self._coordinator_of(group)
        if broker is None:
            raise ApiError(f"there is no group {group}", ErrorCode.RESOURCE_NOT_FOUND)
        code = await broker.groups.delete_group(group, broker.turns.begin())
        if code == ErrorCode.NON_EMPTY_GROUP:
            raise ApiError(f"group {group} has members: they leave first", code)
        if code:
            raise ApiError(f"group {group} cannot be deleted: {ErrorCode(code).name}", ErrorCode(code))
        return {"group": group}

    async def _wait_for_group(self, fields: Fields) -> Answer:
        group, members = fields["group"], fields.get("members", 1)
        try:
            async with asyncio.timeout(fields.get("timeout", TIMEOUT_MS) / 1000):
                while (reason := await self._reason_to_wait(group, members)) is not None:
                    await self.fetched.await_change()
        except TimeoutError:
            reason = await self._reason_to_wait(group, members)
        return {"group": group, "is_there": reason is None, "reason": reason or ""}

    async def _reason_to_wait(self, group: str, wanted: int) -> str | None:
        """None once the group has that many members and each of them has fetched from all it was given."""
        broker = self._coordinator_of(group)
        if broker is None:
            return f"there is no group {group}"
        state, members = await _state_and_members(broker, group)
        if state != STABLE or len(members) != wanted:
            return f"group {group} is {state} with {plural(len(members), 'member')}, not {STABLE} with {wanted}"
        for member in members:
            missing = self.fetched.not_fetched_partitions(member.client_id, member.member_id, member.partitions)
            if missing:
                shown = ", ".join(f"{topic}-{index}" for topic, index in missing)
                return f"{member.member_id} of group {group} has not fetched from {shown} since it was assigned"
        return None

    def _coordinator_of(self, group: str) -> "Services | None":
        for broker in self._running():
            known = broker.groups_in_use
            if known is not None and known.groups.find(group) is not None:
                return broker
        return None


def _partitions(services: "Services", topic: str) -> dict[int, Partition]:
    return services.cluster.topics[topic].partitions


async def _state_and_members(services: "Services", name: str) -> tuple[str, list[Member]]:
    coordinator = services.groups
    if isinstance(coordinator.groups.find(name), ClassicGroup):
        classic = await coordinator.describe_classic(name, 0)
        return classic.group_state, [
            Member(
                member_id=each.member_id,
                client_id=each.client_id,
                partitions=partitions_in_assignment(classic.protocol_type, each.member_assignment),
            )
            for each in classic.members
        ]
    modern = await coordinator.describe_consumer(name, 0)
    return modern.group_state, [
        Member(
            member_id=each.member_id,
            client_id=each.client_id,
            partitions=[(of.topic_name, index) for of in each.assignment.topic_partitions for index in of.partitions],
        )
        for each in modern.members
    ]


def _parse_configs(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ValueError("settings by name")
    return {str(key): str(text).lower() if isinstance(text, bool) else str(text) for key, text in value.items()}


def _raise_first(failed: Mapping[str, ApiError]) -> None:
    for error in failed.values():
        raise error
