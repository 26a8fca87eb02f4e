"""One module per API, named as in protocol/messages/, and the table of what this broker answers.

A row of the table is all that is declared of an API: its versions, who may ask for it, how many items a request may
have, and whose coordinator answers it. Dispatch, ApiVersions, authorization, limits, quotas and the pages of docs/
follow from it. It is not in the handlers, since a handler is imported when it is first asked for.

A handler module has `handle(services, request, call)`. It returns a response (None: none is
sent), is `async`, or returns a coroutine of a response. Its `refuse(request, error, call)` says in the API's own form
that the whole request failed.
"""

from collections.abc import Mapping

from ...protocol.acls import AclOperation, ResourceType
from ...protocol.api import ApiKey
from ..dispatch.served_api import AS_SET, CHEAP, ServedApi
from ..security.authorization.authorization_rule import AuthorizationRule, AuthorizedItems
from . import required_permissions as permissions

MOST_PROTOCOLS = 100
"""The protocols of a JoinGroup: each is kept, and compared with those of all members. Clients have one to three."""
MOST_QUOTAS = 2_000
"""Entities, their parts and their quotas, of an AlterClientQuotas: 5,000 took 23 ms where 64,000 users have quotas."""
FIRST_VERSION_OF_BROKERS = 4  # of AddPartitionsToTxn

SERVED: Mapping[ApiKey, ServedApi] = {
    ApiKey.PRODUCE: ServedApi(
        first=0,
        last=11,
        limit=AS_SET,
        rule=AuthorizationRule(
            whole=(permissions.check_transactional_produce,),
            items=permissions.topic_items(AclOperation.WRITE, field="topic_data", answers="responses"),
        ),
    ),
    ApiKey.FETCH: ServedApi(
        first=0, last=17, limit=CHEAP, rule=AuthorizationRule(asks="READ of each topic; CLUSTER_ACTION for followers")
    ),
    ApiKey.LIST_OFFSETS: ServedApi(
        first=0, last=9, limit=AS_SET, rule=AuthorizationRule(items=permissions.topic_items(AclOperation.DESCRIBE))
    ),
    ApiKey.METADATA: ServedApi(
        first=0,
        last=12,
        limit=AS_SET,
        rule=AuthorizationRule(asks="DESCRIBE of each topic; CREATE of it, or on the cluster, where it is to be made"),
    ),
    ApiKey.API_VERSIONS: ServedApi(first=0, last=4, rule=permissions.OPEN),
    ApiKey.CREATE_TOPICS: ServedApi(
        first=0,
        last=7,
        limit=AS_SET,
        rule=AuthorizationRule(
            items=AuthorizedItems(field="topics", answers="topics", judge=permissions.make_create_topics_judge),
            asks="DESCRIBE_CONFIGS of what was created, to show its settings",
        ),
    ),
    ApiKey.DELETE_TOPICS: ServedApi(
        first=0,
        last=6,
        limit=AS_SET,
        rule=AuthorizationRule(
            asks="DELETE of each topic, or on the cluster; DESCRIBE of it, to tell whether it is there"
        ),
    ),
    ApiKey.DELETE_RECORDS: ServedApi(
        first=0, last=2, limit=AS_SET, rule=AuthorizationRule(items=permissions.topic_items(AclOperation.DELETE))
    ),
    ApiKey.INIT_PRODUCER_ID: ServedApi(
        first=0,
        last=5,
        coordinator="transactions",
        changes_metadata=True,
        rule=AuthorizationRule(whole=(permissions.check_init_producer_id,)),
    ),
    ApiKey.ADD_PARTITIONS_TO_TXN: ServedApi(
        first=0,
        last=5,
        limit=CHEAP,
        coordinator="transactions",
        rule=AuthorizationRule(
            whole=(
                permissions.check_since(FIRST_VERSION_OF_BROKERS, permissions.ON_CLUSTER[AclOperation.CLUSTER_ACTION]),
                permissions.check_before(
                    FIRST_VERSION_OF_BROKERS,
                    permissions.needs(
                        AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, "v3_and_below_transactional_id"
                    ),
                ),
            ),
            asks="WRITE of each topic that is not internal",
        ),
    ),
    ApiKey.ADD_OFFSETS_TO_TXN: ServedApi(
        first=0,
        last=4,
        coordinator="transactions",
        rule=AuthorizationRule(whole=(permissions.WRITE_TRANSACTION, permissions.READ_GROUP)),
    ),
    ApiKey.END_TXN: ServedApi(
        first=0, last=4, coordinator="transactions", rule=AuthorizationRule(whole=(permissions.WRITE_TRANSACTION,))
    ),
    ApiKey.WRITE_TXN_MARKERS: ServedApi(
        first=0,
        last=1,
        limit=AS_SET,
        coordinator="transactions",
        is_metered=False,
        rule=AuthorizationRule(whole=(permissions.check_write_txn_markers,)),
    ),
    ApiKey.TXN_OFFSET_COMMIT: ServedApi(
        first=0,
        last=4,
        limit=CHEAP,
        coordinator="transactions",
        rule=AuthorizationRule(
            whole=(permissions.WRITE_TRANSACTION, permissions.READ_GROUP),
            items=permissions.topic_items(AclOperation.READ),
        ),
    ),
    ApiKey.DESCRIBE_TRANSACTIONS: ServedApi(
        first=0,
        last=0,
        limit=AS_SET,
        coordinator="transactions",
        rule=AuthorizationRule(
            items=AuthorizedItems(
                field="transactional_ids",
                answers="transaction_states",
                judge=permissions.each(AclOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, ""),
            ),
            asks="DESCRIBE of each topic that is shown",
        ),
    ),
    ApiKey.LIST_TRANSACTIONS: ServedApi(
        first=0,
        last=1,
        coordinator="transactions",
        rule=AuthorizationRule(asks="DESCRIBE of each transactional id that is shown"),
    ),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: ServedApi(
        first=0,
        last=4,
        limit=AS_SET,
        rule=AuthorizationRule(
            items=AuthorizedItems(
                field="topics", answers="topics", judge=permissions.make_offset_for_leader_epoch_judge
            )
        ),
    ),
    ApiKey.DESCRIBE_CONFIGS: ServedApi(
        first=0,
        last=4,
        limit=AS_SET,
        rule=AuthorizationRule(
            items=AuthorizedItems(
                field="resources", answers="results", judge=permissions.configs_judge(AclOperation.DESCRIBE_CONFIGS)
            )
        ),
    ),
    ApiKey.ALTER_CONFIGS: ServedApi(
        first=0,
        last=2,
        limit=AS_SET,
        changes_metadata=True,
        rule=AuthorizationRule(
            items=AuthorizedItems(
                field="resources", answers="responses", judge=permissions.configs_judge(AclOperation.ALTER_CONFIGS)
            )
        ),
    ),
    ApiKey.DESCRIBE_LOG_DIRS: ServedApi(
        first=0, last=4, limit=CHEAP, rule=permissions.cluster_rule(AclOperation.DESCRIBE)
    ),
    ApiKey.CREATE_PARTITIONS: ServedApi(
        first=0,
        last=3,
        rule=AuthorizationRule(
            items=AuthorizedItems(field="topics", answers="results", judge=permissions.make_create_partitions_judge)
        ),
    ),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: ServedApi(
        first=0,
        last=1,
        limit=AS_SET,
        changes_metadata=True,
        rule=AuthorizationRule(
            items=AuthorizedItems(
                field="resources", answers="responses", judge=permissions.configs_judge(AclOperation.ALTER_CONFIGS)
            )
        ),
    ),
    ApiKey.DESCRIBE_CLUSTER: ServedApi(
        first=0, last=1, rule=AuthorizationRule(asks="DESCRIBE on the cluster, to tell what may be done with it")
    ),
    ApiKey.FIND_COORDINATOR: ServedApi(
        first=0,
        last=6,
        limit=AS_SET,
        rule=AuthorizationRule(
            whole=(permissions.check_find_coordinator,),
            items=AuthorizedItems(
                field="coordinator_keys", answers="coordinators", judge=permissions.make_find_coordinator_judge
            ),
        ),
    ),
    ApiKey.JOIN_GROUP: ServedApi(first=0, last=9, limit=MOST_PROTOCOLS, coordinator="groups", rule=permissions.MEMBER),
    ApiKey.HEARTBEAT: ServedApi(first=0, last=4, coordinator="groups", rule=permissions.MEMBER),
    ApiKey.LEAVE_GROUP: ServedApi(first=0, last=5, limit=CHEAP, coordinator="groups", rule=permissions.MEMBER),
    ApiKey.SYNC_GROUP: ServedApi(first=0, last=5, limit=CHEAP, coordinator="groups", rule=permissions.MEMBER),
    ApiKey.OFFSET_COMMIT: ServedApi(
        first=0,
        last=9,
        limit=AS_SET,
        coordinator="groups",
        rule=AuthorizationRule(whole=(permissions.READ_GROUP,), items=permissions.topic_items(AclOperation.READ)),
    ),
    ApiKey.OFFSET_FETCH: ServedApi(
        first=0,
        last=9,
        limit=AS_SET,
        coordinator="groups",
        rule=AuthorizationRule(
            whole=(
                permissions.check_before(8, permissions.needs(AclOperation.DESCRIBE, ResourceType.GROUP, "group_id")),
            ),
            items=permissions.group_items(AclOperation.DESCRIBE, "groups", "groups", "group_id"),
            asks="DESCRIBE of each topic",
        ),
    ),
    ApiKey.DESCRIBE_GROUPS: ServedApi(
        first=0,
        last=5,
        limit=AS_SET,
        coordinator="groups",
        rule=AuthorizationRule(
            items=permissions.group_items(AclOperation.DESCRIBE, "groups", "groups"),
            asks="what may be done with a group",
        ),
    ),
    ApiKey.LIST_GROUPS: ServedApi(
        first=0,
        last=5,
        coordinator="groups",
        rule=AuthorizationRule(asks="DESCRIBE on the cluster, or of each group that is shown"),
    ),
    ApiKey.DELETE_GROUPS: ServedApi(
        first=0,
        last=2,
        limit=AS_SET,
        coordinator="groups",
        rule=AuthorizationRule(items=permissions.group_items(AclOperation.DELETE, "groups_names", "results")),
    ),
    ApiKey.OFFSET_DELETE: ServedApi(
        first=0,
        last=0,
        limit=CHEAP,
        coordinator="groups",
        rule=AuthorizationRule(
            whole=(permissions.needs(AclOperation.DELETE, ResourceType.GROUP, "group_id"),), asks="READ of each topic"
        ),
    ),
    ApiKey.SASL_HANDSHAKE: ServedApi(first=0, last=1, is_metered=False, rule=permissions.OPEN),
    ApiKey.SASL_AUTHENTICATE: ServedApi(first=0, last=2, is_metered=False, rule=permissions.OPEN),
    ApiKey.DESCRIBE_ACLS: ServedApi(first=0, last=3, rule=permissions.cluster_rule(AclOperation.DESCRIBE)),
    ApiKey.CREATE_ACLS: ServedApi(
        first=0, last=3, rule=permissions.cluster_rule(AclOperation.ALTER), changes_metadata=True
    ),
    ApiKey.DELETE_ACLS: ServedApi(
        first=0, last=3, rule=permissions.cluster_rule(AclOperation.ALTER), changes_metadata=True
    ),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: ServedApi(
        first=0, last=0, rule=permissions.cluster_rule(AclOperation.DESCRIBE)
    ),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: ServedApi(
        first=0, last=0, rule=permissions.cluster_rule(AclOperation.ALTER), changes_metadata=True
    ),
    ApiKey.ALTER_REPLICA_LOG_DIRS: ServedApi(first=0, last=2, rule=permissions.cluster_rule(AclOperation.ALTER)),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: ServedApi(first=0, last=0, rule=AuthorizationRule(asks="DESCRIBE of each topic")),
    ApiKey.ELECT_LEADERS: ServedApi(
        first=0, last=2, rule=permissions.cluster_rule(AclOperation.ALTER), changes_metadata=True
    ),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: ServedApi(
        first=0, last=0, rule=permissions.cluster_rule(AclOperation.ALTER), changes_metadata=True
    ),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: ServedApi(
        first=0, last=0, rule=permissions.cluster_rule(AclOperation.DESCRIBE)
    ),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: ServedApi(
        first=0, last=1, rule=permissions.cluster_rule(AclOperation.DESCRIBE_CONFIGS)
    ),
    ApiKey.ALTER_CLIENT_QUOTAS: ServedApi(
        first=0,
        last=1,
        limit=MOST_QUOTAS,
        rule=permissions.cluster_rule(AclOperation.ALTER_CONFIGS),
        changes_metadata=True,
    ),
    ApiKey.DESCRIBE_QUORUM: ServedApi(first=0, last=2, rule=permissions.cluster_rule(AclOperation.DESCRIBE)),
    ApiKey.UPDATE_FEATURES: ServedApi(
        first=0, last=1, rule=permissions.cluster_rule(AclOperation.ALTER), changes_metadata=True
    ),
    ApiKey.DESCRIBE_PRODUCERS: ServedApi(
        first=0,
        last=0,
        limit=AS_SET,
        rule=AuthorizationRule(
            items=AuthorizedItems(field="topics", answers="topics", judge=permissions.make_describe_producers_judge)
        ),
    ),
    ApiKey.UNREGISTER_BROKER: ServedApi(first=0, last=0, rule=permissions.cluster_rule(AclOperation.ALTER)),
    ApiKey.LIST_CLIENT_METRICS_RESOURCES: ServedApi(
        first=0, last=0, rule=permissions.cluster_rule(AclOperation.DESCRIBE_CONFIGS)
    ),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: ServedApi(
        first=0,
        last=1,
        limit=CHEAP,
        coordinator="groups",
        rule=AuthorizationRule(whole=(permissions.READ_GROUP,), asks="DESCRIBE of each topic"),
    ),
    ApiKey.CONSUMER_GROUP_DESCRIBE: ServedApi(
        first=0,
        last=1,
        limit=AS_SET,
        coordinator="groups",
        rule=AuthorizationRule(
            items=permissions.group_items(AclOperation.DESCRIBE, "group_ids", "groups"),
            asks="what may be done with a group; DESCRIBE of each topic that is assigned in it",
        ),
    ),
}
