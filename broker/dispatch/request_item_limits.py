"""How many items a request may have, by API (docs/limits.md).

An item takes between one and forty microseconds to read, handle and answer. APIs that clients ask about very many
partitions, groups or topics give the loop to others on their way: they may have as many as
`stepdown.request.max.items` says. The others are handled whole.
"""

from ...protocol.api import ApiKey

SETTING = "stepdown.request.max.items"

MOST_ITEMS_IN_ONE_GO = 5_000
MOST_CHEAP_ITEMS_IN_ONE_GO = 20_000
MOST_PROTOCOLS = 100
"""Of a JoinGroup: each member's are kept, and compared with those of all others. Clients have one to three."""

IN_TURNS = frozenset(
    {
        ApiKey.PRODUCE,
        ApiKey.LIST_OFFSETS,
        ApiKey.METADATA,
        ApiKey.OFFSET_COMMIT,
        ApiKey.OFFSET_FETCH,
        ApiKey.OFFSET_FOR_LEADER_EPOCH,
        ApiKey.FIND_COORDINATOR,
        ApiKey.DESCRIBE_GROUPS,
        ApiKey.CONSUMER_GROUP_DESCRIBE,
        ApiKey.DELETE_GROUPS,
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.DELETE_RECORDS,
        ApiKey.DESCRIBE_PRODUCERS,
        ApiKey.DESCRIBE_TRANSACTIONS,
        ApiKey.WRITE_TXN_MARKERS,
        ApiKey.DESCRIBE_CONFIGS,
        ApiKey.ALTER_CONFIGS,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
    }
)
CHEAP = frozenset(
    {
        ApiKey.FETCH,
        ApiKey.SYNC_GROUP,
        ApiKey.LEAVE_GROUP,
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        ApiKey.DESCRIBE_LOG_DIRS,
        ApiKey.ADD_PARTITIONS_TO_TXN,
        ApiKey.TXN_OFFSET_COMMIT,
        ApiKey.OFFSET_DELETE,
    }
)


def most_items(key: ApiKey, setting: int) -> int:
    """The most items of all arrays of a request of this API, where `setting` is the most of any."""
    if key in IN_TURNS:
        return setting
    if key is ApiKey.JOIN_GROUP:
        return min(setting, MOST_PROTOCOLS)
    return min(setting, MOST_CHEAP_ITEMS_IN_ONE_GO if key in CHEAP else MOST_ITEMS_IN_ONE_GO)
