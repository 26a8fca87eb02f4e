"""What a client may do with a resource, as the bit fields that Metadata, DescribeCluster and DescribeGroups answer
(KIP-430).

Bit n is the operation of code n. Without an authorizer everything is allowed. Source: Kafka 3.9 `AclOperation`,
`AclEntry`.
"""

from enum import IntEnum


class AclOperation(IntEnum):
    """Operations by their code."""

    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12


NOT_ASKED = -(1 << 31)


def bit_field(*operations: AclOperation) -> int:
    return sum(1 << operation for operation in operations)


ALL_ON_TOPIC = bit_field(
    AclOperation.READ,
    AclOperation.WRITE,
    AclOperation.CREATE,
    AclOperation.DELETE,
    AclOperation.ALTER,
    AclOperation.DESCRIBE,
    AclOperation.DESCRIBE_CONFIGS,
    AclOperation.ALTER_CONFIGS,
)
ALL_ON_GROUP = bit_field(AclOperation.READ, AclOperation.DELETE, AclOperation.DESCRIBE)
ALL_ON_CLUSTER = bit_field(
    AclOperation.CREATE,
    AclOperation.ALTER,
    AclOperation.DESCRIBE,
    AclOperation.CLUSTER_ACTION,
    AclOperation.DESCRIBE_CONFIGS,
    AclOperation.ALTER_CONFIGS,
    AclOperation.IDEMPOTENT_WRITE,
)
