"""The APIs of Kafka 3.9 by key; of those we can read, the versions, the first flexible one, the deprecated.

Source: Kafka 3.9 `ApiKeys` and the headers of its message definitions. Classes are imported when first asked for.
"""

from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from importlib import import_module
from re import sub
from typing import Any, Final

from .errors import MalformedFrame


class ApiKey(IntEnum):
    """What a request header carries as its key."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    LEADER_AND_ISR = 4
    STOP_REPLICA = 5
    UPDATE_METADATA = 6
    CONTROLLED_SHUTDOWN = 7
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    CREATE_DELEGATION_TOKEN = 38
    RENEW_DELEGATION_TOKEN = 39
    EXPIRE_DELEGATION_TOKEN = 40
    DESCRIBE_DELEGATION_TOKEN = 41
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    DESCRIBE_CLIENT_QUOTAS = 48
    ALTER_CLIENT_QUOTAS = 49
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    VOTE = 52
    BEGIN_QUORUM_EPOCH = 53
    END_QUORUM_EPOCH = 54
    DESCRIBE_QUORUM = 55
    ALTER_PARTITION = 56
    UPDATE_FEATURES = 57
    ENVELOPE = 58
    FETCH_SNAPSHOT = 59
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61
    BROKER_REGISTRATION = 62
    BROKER_HEARTBEAT = 63
    UNREGISTER_BROKER = 64
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    ALLOCATE_PRODUCER_IDS = 67
    CONSUMER_GROUP_HEARTBEAT = 68
    CONSUMER_GROUP_DESCRIBE = 69
    CONTROLLER_REGISTRATION = 70
    GET_TELEMETRY_SUBSCRIPTIONS = 71
    PUSH_TELEMETRY = 72
    ASSIGN_REPLICAS_TO_DIRS = 73
    LIST_CLIENT_METRICS_RESOURCES = 74
    DESCRIBE_TOPIC_PARTITIONS = 75
    SHARE_GROUP_HEARTBEAT = 76
    SHARE_GROUP_DESCRIBE = 77
    SHARE_FETCH = 78
    SHARE_ACKNOWLEDGE = 79
    ADD_RAFT_VOTER = 80
    REMOVE_RAFT_VOTER = 81
    UPDATE_RAFT_VOTER = 82
    INITIALIZE_SHARE_GROUP_STATE = 83
    READ_SHARE_GROUP_STATE = 84
    WRITE_SHARE_GROUP_STATE = 85
    DELETE_SHARE_GROUP_STATE = 86
    READ_SHARE_GROUP_STATE_SUMMARY = 87


class UnsupportedApi(MalformedFrame):
    """A request names a key or version that nobody here can read."""


@dataclass(frozen=True, kw_only=True)
class ApiSpec:
    """One API. `name` is Kafka's; versions include both ends. Not slotted: its `__dict__` keeps the message classes."""

    key: ApiKey
    name: str
    min_version: int
    max_version: int
    first_flexible: int | None
    deprecated: range = field(default=range(0))

    @cached_property
    def request(self) -> type[Any]:
        return self._message_class(f"{self.name}Request")

    @cached_property
    def response(self) -> type[Any]:
        return self._message_class(f"{self.name}Response")

    def _message_class(self, name: str) -> type[Any]:
        module = sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", self.name).lower()
        found: type[Any] = getattr(import_module(f".messages.{module}", __package__), name)
        return found

    def supports(self, version: int) -> bool:
        return self.min_version <= version <= self.max_version

    def is_deprecated(self, version: int) -> bool:
        return version in self.deprecated

    def is_flexible(self, version: int) -> bool:
        return self.first_flexible is not None and version >= self.first_flexible


def _make_spec(
    key: int, name: str, last: int, flexible: int | None = None, *, deprecated: int | None = None
) -> ApiSpec:
    """`deprecated` is the last deprecated version; all begin at 0."""
    return ApiSpec(
        key=ApiKey(key),
        name=name,
        min_version=0,
        max_version=last,
        first_flexible=flexible,
        deprecated=range(0) if deprecated is None else range(deprecated + 1),
    )


_SPECS: Final = (
    _make_spec(0, "Produce", 11, 9, deprecated=6),
    _make_spec(1, "Fetch", 17, 12, deprecated=3),
    _make_spec(2, "ListOffsets", 9, 6, deprecated=0),
    _make_spec(3, "Metadata", 12, 9, deprecated=3),
    _make_spec(7, "ControlledShutdown", 3, 3),
    _make_spec(8, "OffsetCommit", 9, 8, deprecated=1),
    _make_spec(9, "OffsetFetch", 9, 6, deprecated=0),
    _make_spec(10, "FindCoordinator", 6, 3, deprecated=0),
    _make_spec(11, "JoinGroup", 9, 6, deprecated=1),
    _make_spec(12, "Heartbeat", 4, 4),
    _make_spec(13, "LeaveGroup", 5, 4),
    _make_spec(14, "SyncGroup", 5, 4),
    _make_spec(15, "DescribeGroups", 5, 5),
    _make_spec(16, "ListGroups", 5, 3),
    _make_spec(17, "SaslHandshake", 1, deprecated=0),
    _make_spec(18, "ApiVersions", 4, 3),
    _make_spec(19, "CreateTopics", 7, 5, deprecated=1),
    _make_spec(20, "DeleteTopics", 6, 4, deprecated=0),
    _make_spec(21, "DeleteRecords", 2, 2),
    _make_spec(22, "InitProducerId", 5, 2),
    _make_spec(23, "OffsetForLeaderEpoch", 4, 4, deprecated=1),
    _make_spec(24, "AddPartitionsToTxn", 5, 3),
    _make_spec(25, "AddOffsetsToTxn", 4, 3),
    _make_spec(26, "EndTxn", 4, 3),
    _make_spec(27, "WriteTxnMarkers", 1, 1),
    _make_spec(28, "TxnOffsetCommit", 4, 3),
    _make_spec(29, "DescribeAcls", 3, 2, deprecated=0),
    _make_spec(30, "CreateAcls", 3, 2, deprecated=0),
    _make_spec(31, "DeleteAcls", 3, 2, deprecated=0),
    _make_spec(32, "DescribeConfigs", 4, 4, deprecated=0),
    _make_spec(33, "AlterConfigs", 2, 2),
    _make_spec(34, "AlterReplicaLogDirs", 2, 2, deprecated=0),
    _make_spec(35, "DescribeLogDirs", 4, 2, deprecated=0),
    _make_spec(36, "SaslAuthenticate", 2, 2),
    _make_spec(37, "CreatePartitions", 3, 2),
    _make_spec(42, "DeleteGroups", 2, 2, deprecated=0),
    _make_spec(43, "ElectLeaders", 2, 2),
    _make_spec(44, "IncrementalAlterConfigs", 1, 1),
    _make_spec(45, "AlterPartitionReassignments", 0, 0),
    _make_spec(46, "ListPartitionReassignments", 0, 0),
    _make_spec(47, "OffsetDelete", 0),
    _make_spec(48, "DescribeClientQuotas", 1, 1),
    _make_spec(49, "AlterClientQuotas", 1, 1),
    _make_spec(50, "DescribeUserScramCredentials", 0, 0),
    _make_spec(51, "AlterUserScramCredentials", 0, 0),
    _make_spec(55, "DescribeQuorum", 2, 0),
    _make_spec(57, "UpdateFeatures", 1, 0),
    _make_spec(60, "DescribeCluster", 1, 0),
    _make_spec(61, "DescribeProducers", 0, 0),
    _make_spec(64, "UnregisterBroker", 0, 0),
    _make_spec(65, "DescribeTransactions", 0, 0),
    _make_spec(66, "ListTransactions", 1, 0),
    _make_spec(68, "ConsumerGroupHeartbeat", 1, 0),
    _make_spec(69, "ConsumerGroupDescribe", 1, 0),
    _make_spec(71, "GetTelemetrySubscriptions", 0, 0),
    _make_spec(72, "PushTelemetry", 0, 0),
    _make_spec(74, "ListClientMetricsResources", 0, 0),
    _make_spec(75, "DescribeTopicPartitions", 0, 0),
)

API: Final[dict[ApiKey, ApiSpec]] = {spec.key: spec for spec in _SPECS}
_BY_KEY: Final[dict[int, ApiSpec]] = {int(spec.key): spec for spec in _SPECS}
_BY_NAME: Final = {spec.name: spec for spec in _SPECS}


def is_flexible_version(key: int, version: int) -> bool:
    """Whether that version of the API uses the compact types and tagged fields.

    Raises: UnsupportedApi when the key is unknown.
    """
    return spec_of(key).is_flexible(version)


def spec_of(key: int) -> ApiSpec:
    """The API with that key.

    Raises: UnsupportedApi when there is none.
    """
    spec = _BY_KEY.get(key)
    if spec is None:
        raise UnsupportedApi(f"API key {key} is unknown")
    return spec


def spec_of_request(request: object) -> ApiSpec:
    """The API that a request value belongs to."""
    return _BY_NAME[type(request).__name__.removesuffix("Request")]
