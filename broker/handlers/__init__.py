"""One module per API, named as in protocol/messages/, and the table of what this broker answers.

A handler module has `async def handle(broker, request, call)`, which returns a response (None: none is sent), and
`def refuse(request, error, call)`, which says in the API's own form that the whole request failed.
"""

from ...protocol.api import ApiKey
from ..dispatch import Served

SERVED: dict[ApiKey, Served] = {
    ApiKey.PRODUCE: Served(module="produce", first=0, last=11),
    ApiKey.FETCH: Served(module="fetch", first=0, last=17),
    ApiKey.LIST_OFFSETS: Served(module="list_offsets", first=0, last=9),
    ApiKey.METADATA: Served(module="metadata", first=0, last=12),
    ApiKey.API_VERSIONS: Served(module="api_versions", first=0, last=4),
    ApiKey.CREATE_TOPICS: Served(module="create_topics", first=0, last=7),
    ApiKey.DELETE_TOPICS: Served(module="delete_topics", first=0, last=6),
    ApiKey.DELETE_RECORDS: Served(module="delete_records", first=0, last=2),
    ApiKey.INIT_PRODUCER_ID: Served(module="init_producer_id", first=0, last=5),
    ApiKey.ADD_PARTITIONS_TO_TXN: Served(module="add_partitions_to_txn", first=0, last=5),
    ApiKey.ADD_OFFSETS_TO_TXN: Served(module="add_offsets_to_txn", first=0, last=4),
    ApiKey.END_TXN: Served(module="end_txn", first=0, last=4),
    ApiKey.WRITE_TXN_MARKERS: Served(module="write_txn_markers", first=0, last=1),
    ApiKey.TXN_OFFSET_COMMIT: Served(module="txn_offset_commit", first=0, last=4),
    ApiKey.DESCRIBE_TRANSACTIONS: Served(module="describe_transactions", first=0, last=0),
    ApiKey.LIST_TRANSACTIONS: Served(module="list_transactions", first=0, last=1),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: Served(module="offset_for_leader_epoch", first=0, last=4),
    ApiKey.DESCRIBE_CONFIGS: Served(module="describe_configs", first=0, last=4),
    ApiKey.ALTER_CONFIGS: Served(module="alter_configs", first=0, last=2),
    ApiKey.DESCRIBE_LOG_DIRS: Served(module="describe_log_dirs", first=0, last=4),
    ApiKey.CREATE_PARTITIONS: Served(module="create_partitions", first=0, last=3),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: Served(module="incremental_alter_configs", first=0, last=1),
    ApiKey.DESCRIBE_CLUSTER: Served(module="describe_cluster", first=0, last=1),
    ApiKey.FIND_COORDINATOR: Served(module="find_coordinator", first=0, last=6),
    ApiKey.JOIN_GROUP: Served(module="join_group", first=0, last=9),
    ApiKey.HEARTBEAT: Served(module="heartbeat", first=0, last=4),
    ApiKey.LEAVE_GROUP: Served(module="leave_group", first=0, last=5),
    ApiKey.SYNC_GROUP: Served(module="sync_group", first=0, last=5),
    ApiKey.OFFSET_COMMIT: Served(module="offset_commit", first=0, last=9),
    ApiKey.OFFSET_FETCH: Served(module="offset_fetch", first=0, last=9),
    ApiKey.DESCRIBE_GROUPS: Served(module="describe_groups", first=0, last=5),
    ApiKey.LIST_GROUPS: Served(module="list_groups", first=0, last=5),
    ApiKey.DELETE_GROUPS: Served(module="delete_groups", first=0, last=2),
    ApiKey.OFFSET_DELETE: Served(module="offset_delete", first=0, last=0),
    ApiKey.ALTER_REPLICA_LOG_DIRS: Served(module="alter_replica_log_dirs", first=0, last=2),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: Served(module="describe_topic_partitions", first=0, last=0),
    ApiKey.ELECT_LEADERS: Served(module="elect_leaders", first=0, last=2),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: Served(module="alter_partition_reassignments", first=0, last=0),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: Served(module="list_partition_reassignments", first=0, last=0),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: Served(module="describe_client_quotas", first=0, last=1),
    ApiKey.ALTER_CLIENT_QUOTAS: Served(module="alter_client_quotas", first=0, last=1),
    ApiKey.DESCRIBE_QUORUM: Served(module="describe_quorum", first=0, last=2),
    ApiKey.UPDATE_FEATURES: Served(module="update_features", first=0, last=1),
    ApiKey.DESCRIBE_PRODUCERS: Served(module="describe_producers", first=0, last=0),
    ApiKey.UNREGISTER_BROKER: Served(module="unregister_broker", first=0, last=0),
    ApiKey.LIST_CLIENT_METRICS_RESOURCES: Served(module="list_client_metrics_resources", first=0, last=0),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: Served(module="consumer_group_heartbeat", first=0, last=1),
    ApiKey.CONSUMER_GROUP_DESCRIBE: Served(module="consumer_group_describe", first=0, last=1),
}
