"""The routes of requests when all brokers have one address here: `ROUTES` has each API that is offered then.

A request whose parts are for several brokers is split, and the responses are joined.
"""

from collections.abc import Mapping

from ...client.operation import GROUP, TRANSACTION
from ...protocol.api import API, ApiKey
from .fetch_route import FetchRoute
from .item_route import ItemRoute, OffsetFetchRoute
from .key_route import KeyRoute
from .partition_route import PartitionRoute
from .route import AllBrokersRoute, AnyBrokerRoute, Route, broker_of_resource, coordinator_target

ANY = AnyBrokerRoute()
_GROUP = KeyRoute("group_id", GROUP)
_TRANSACTION = KeyRoute("transactional_id", TRANSACTION)
_TOPICS = PartitionRoute("topics", "name", "partitions", "partition_index", "topics", "name", "partitions")

ROUTES: Mapping[int, Route] = {
    ApiKey.PRODUCE: PartitionRoute(
        "topic_data", "name", "partition_data", "index", "responses", "name", "partition_responses"
    ),
    ApiKey.FETCH: FetchRoute("topics", "topic", "partitions", "partition", "responses", "topic", "partitions"),
    ApiKey.LIST_OFFSETS: _TOPICS,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: PartitionRoute(
        "topics", "topic", "partitions", "partition", "topics", "topic", "partitions"
    ),
    ApiKey.DELETE_RECORDS: _TOPICS,
    ApiKey.DESCRIBE_PRODUCERS: PartitionRoute(
        "topics", "name", "partition_indexes", "", "topics", "name", "partitions"
    ),
    ApiKey.OFFSET_COMMIT: _GROUP,
    ApiKey.OFFSET_FETCH: OffsetFetchRoute("groups", "groups", lambda each: coordinator_target(each.group_id, GROUP)),
    ApiKey.JOIN_GROUP: _GROUP,
    ApiKey.SYNC_GROUP: _GROUP,
    ApiKey.HEARTBEAT: _GROUP,
    ApiKey.LEAVE_GROUP: _GROUP,
    ApiKey.OFFSET_DELETE: _GROUP,
    ApiKey.TXN_OFFSET_COMMIT: _GROUP,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: _GROUP,
    ApiKey.DESCRIBE_GROUPS: ItemRoute("groups", "groups", lambda group: coordinator_target(group, GROUP)),
    ApiKey.CONSUMER_GROUP_DESCRIBE: ItemRoute("group_ids", "groups", lambda group: coordinator_target(group, GROUP)),
    ApiKey.DELETE_GROUPS: ItemRoute("groups_names", "results", lambda group: coordinator_target(group, GROUP)),
    ApiKey.INIT_PRODUCER_ID: _TRANSACTION,
    ApiKey.ADD_PARTITIONS_TO_TXN: KeyRoute("v3_and_below_transactional_id", TRANSACTION),
    ApiKey.ADD_OFFSETS_TO_TXN: _TRANSACTION,
    ApiKey.END_TXN: _TRANSACTION,
    ApiKey.DESCRIBE_TRANSACTIONS: ItemRoute(
        "transactional_ids", "transaction_states", lambda name: coordinator_target(name, TRANSACTION)
    ),
    ApiKey.LIST_GROUPS: AllBrokersRoute("groups"),
    ApiKey.LIST_TRANSACTIONS: AllBrokersRoute("transaction_states"),
    ApiKey.DESCRIBE_CONFIGS: ItemRoute("resources", "results", broker_of_resource),
    ApiKey.ALTER_CONFIGS: ItemRoute("resources", "responses", broker_of_resource),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: ItemRoute("resources", "responses", broker_of_resource),
    **dict.fromkeys(
        (
            *(ApiKey.METADATA, ApiKey.FIND_COORDINATOR, ApiKey.API_VERSIONS, ApiKey.DESCRIBE_CLUSTER),
            *(ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE, ApiKey.DESCRIBE_TOPIC_PARTITIONS),
            *(ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS, ApiKey.CREATE_PARTITIONS, ApiKey.ELECT_LEADERS),
            *(ApiKey.DESCRIBE_ACLS, ApiKey.CREATE_ACLS, ApiKey.DELETE_ACLS),
            *(ApiKey.CREATE_DELEGATION_TOKEN, ApiKey.RENEW_DELEGATION_TOKEN),
            *(ApiKey.EXPIRE_DELEGATION_TOKEN, ApiKey.DESCRIBE_DELEGATION_TOKEN),
            *(ApiKey.ALTER_PARTITION_REASSIGNMENTS, ApiKey.LIST_PARTITION_REASSIGNMENTS),
            *(ApiKey.DESCRIBE_CLIENT_QUOTAS, ApiKey.ALTER_CLIENT_QUOTAS),
            *(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, ApiKey.ALTER_USER_SCRAM_CREDENTIALS),
            *(ApiKey.DESCRIBE_QUORUM, ApiKey.UPDATE_FEATURES, ApiKey.UNREGISTER_BROKER),
            ApiKey.LIST_CLIENT_METRICS_RESOURCES,
        ),
        ANY,
    ),
}
"""Other APIs are not offered, such as those of log directories, whose requests do not name the broker they are for."""

READ = (ApiKey.METADATA, ApiKey.FIND_COORDINATOR)
"""Requests that any broker answers; what they ask for is also looked up here again."""
BROKERS_FROM = 4
"""The version of AddPartitionsToTxn from which on it is a request between brokers."""


def newest_version(key: int) -> int:
    """The newest version of an API that can be routed, -1 for none: requests that are decoded have to be known here."""
    route = ROUTES.get(key)
    if route is None:
        return -1
    if route is ANY and key not in READ:
        return 32_767
    return BROKERS_FROM - 1 if key == ApiKey.ADD_PARTITIONS_TO_TXN else API[ApiKey(key)].max_version
