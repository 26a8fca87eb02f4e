"""Access rules (ACLs) as requests and `__cluster_metadata` carry them: codes, rules, filters.

A rule: this principal, from this host, may (or may not) do this operation on resources of this type, whose name is the
pattern's or begins with it. Sources: KIP-11, 290; Kafka 3.9 `AclOperation`, `AclPermissionType`, `ResourceType`,
`PatternType`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Any

# These enums hash as plain ints: Enum's own hash takes a microsecond, and rules are hashed by the thousand.

CLUSTER_NAME = "kafka-cluster"
"""The name of the one resource of type CLUSTER."""

WILDCARD = "*"
"""As a host or as a literal resource name: any."""

ANY_USER = "User:*"


class ResourceType(IntEnum):
    """What a rule is about; ANY is for filters."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7

    __hash__ = int.__hash__


class PatternType(IntEnum):
    """How a rule's name is meant. For filters only: ANY matches every type, MATCH all rules that affect the name."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4

    __hash__ = int.__hash__


class AclOperation(IntEnum):
    """What is done; ANY is for filters, ALL covers the others."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
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
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14

    __hash__ = int.__hash__


class PermissionType(IntEnum):
    """Whether a rule allows or denies; ANY is for filters."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3

    __hash__ = int.__hash__


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Acl:
    """One rule. `principal` is `User:name`; `host` an address, or `*`."""

    resource_type: ResourceType
    resource_name: str
    pattern_type: PatternType
    principal: str
    host: str
    operation: AclOperation
    permission_type: PermissionType

    @classmethod
    def from_numbers(cls, values: Mapping[str, Any]) -> "Acl":
        """The rule of these values by field, kinds and operations as numbers. Raises: ValueError, KeyError."""
        return cls(**{each: _NUMBERED.get(each, str)(values[each]) for each in ACL_FIELDS})


ACL_FIELDS = tuple(each.name for each in fields(Acl))
_NUMBERED: Mapping[str, Callable[[Any], Any]] = {
    "resource_type": ResourceType,
    "pattern_type": PatternType,
    "operation": AclOperation,
    "permission_type": PermissionType,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AclFilter:
    """Which rules are meant; None and ANY leave a part open."""

    resource_type: ResourceType = ResourceType.ANY
    resource_name: str | None = None
    pattern_type: PatternType = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: AclOperation = AclOperation.ANY
    permission_type: PermissionType = PermissionType.ANY
