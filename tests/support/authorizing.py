"""Random access rules and questions about them; a plain model of the answers; Kafka's authorizer asked the same."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st
from stepdown.network.principal import KafkaPrincipal
from stepdown.protocol.acls import Acl, AclFilter, AclOperation, PatternType, PermissionType, ResourceType

from .java_oracle import JavaOracle

KINDS = st.sampled_from([ResourceType.TOPIC, ResourceType.GROUP])
NAMES = st.sampled_from(["*", "a", "ab", "abc", "b", "+", "hardcode", "hard", "\u20ac", "**"])
USERS = ["alice", "bob", "*", "a:b"]
CLIENTS = {
    "10.0.0.1": "10.0.0.1",
    "10.0.0.2": "10.0.0.2",
    "::ffff:10.0.0.2": "10.0.0.2",
    "::1": "0:0:0:0:0:0:0:1",
    "0:0:0:0:0:0:0:1": "0:0:0:0:0:0:0:1",
    "2001:DB8::000A": "2001:db8:0:0:0:0:0:a",
    "fe80::1%3": "fe80:0:0:0:0:0:0:1%3",
}
"""Addresses that clients may have, each with what Java writes for it, which is what Kafka compares with rules."""
HOSTS = st.sampled_from(sorted(set(CLIENTS.values())))
REAL_OPERATIONS = st.sampled_from([each for each in AclOperation if each > AclOperation.ALL])


@dataclass(frozen=True, slots=True)
class Question:
    """May this principal do that? Name "": to any resource of the type."""

    principal: KafkaPrincipal
    host: str
    operation: AclOperation
    kind: ResourceType
    name: str


rules = st.builds(
    Acl,
    resource_type=KINDS,
    resource_name=NAMES,
    pattern_type=st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
    principal=st.sampled_from([f"User:{name}" for name in USERS] + ["Role:alice"]),
    host=st.one_of(HOSTS, st.just("*")),
    operation=st.one_of(REAL_OPERATIONS, st.just(AclOperation.ALL)),
    permission_type=st.sampled_from([PermissionType.ALLOW, PermissionType.ALLOW, PermissionType.DENY]),
)
questions = st.builds(
    Question,
    st.builds(KafkaPrincipal, st.sampled_from(["User", "Role"]), st.sampled_from(USERS)),
    st.sampled_from(sorted(CLIENTS)),
    REAL_OPERATIONS,
    KINDS,
    st.one_of(NAMES, st.just("")),
)
filters = st.builds(
    AclFilter,
    resource_type=st.one_of(KINDS, st.just(ResourceType.ANY)),
    resource_name=st.one_of(st.none(), NAMES),
    pattern_type=st.sampled_from([each for each in PatternType if each]),
    principal=st.sampled_from([None, "User:alice", "User:*"]),
    host=st.one_of(st.none(), HOSTS),
    operation=st.one_of(REAL_OPERATIONS, st.just(AclOperation.ANY)),
    permission_type=st.sampled_from([each for each in PermissionType if each]),
)


def modelled(super_users: frozenset[str], default: bool, acls: Sequence[Acl], asked: Question) -> bool:
    """The answer, told as the documentation of Kafka tells it."""
    who = str(asked.principal)
    if who in super_users:
        return True
    applicable = [acl for acl in acls if _applies(acl, asked)]
    hosts = ("*", CLIENTS[asked.host])
    mine = [acl for acl in applicable if acl.principal in (who, "User:*") and acl.host in hosts]
    if any(acl.permission_type is PermissionType.DENY and _covers(acl, asked.operation) for acl in mine):
        return False
    if any(acl.permission_type is PermissionType.ALLOW and _implies(acl, asked.operation) for acl in mine):
        return True
    return default and not applicable


def _applies(acl: Acl, asked: Question) -> bool:
    if acl.resource_type is not asked.kind:
        return False
    if acl.pattern_type is PatternType.PREFIXED:
        return asked.name.startswith(acl.resource_name)
    return acl.resource_name in ("*", asked.name)


def _covers(acl: Acl, operation: AclOperation) -> bool:
    return acl.operation in (AclOperation.ALL, operation)


def _implies(acl: Acl, operation: AclOperation) -> bool:
    implied = {"READ": "DESCRIBE", "WRITE": "DESCRIBE", "DELETE": "DESCRIBE", "ALTER": "DESCRIBE"}
    implied["ALTER_CONFIGS"] = "DESCRIBE_CONFIGS"
    return _covers(acl, operation) or implied.get(acl.operation.name) == operation.name


def answers_of_kafka(
    oracle: JavaOracle, super_users: frozenset[str], default: bool, acls: Sequence[Acl], asked: Sequence[Question]
) -> list[bool]:
    """What StandardAuthorizer answers."""
    payload = _text(";".join(sorted(super_users))) + struct.pack(">b", default)
    payload += struct.pack(">i", len(acls)) + b"".join(map(_rule, acls)) + struct.pack(">i", len(asked))
    for each in asked:
        payload += _text(each.principal.type) + _text(each.principal.name) + _text(each.host)
        payload += struct.pack(">bb", each.operation, each.kind) + _text(each.name)
    return [bool(byte) for byte in oracle.call("Authorizer.ask", payload)]


def matches_of_kafka(oracle: JavaOracle, wanted: AclFilter, acls: Sequence[Acl]) -> list[bool]:
    """Which of the rules Kafka's filter matches."""
    payload = _rule(wanted) + struct.pack(">i", len(acls)) + b"".join(map(_rule, acls))
    return [bool(byte) for byte in oracle.call("Authorizer.match", payload)]


def _rule(acl: Acl | AclFilter) -> bytes:
    return b"".join(
        (
            struct.pack(">b", acl.resource_type),
            _text(acl.resource_name or ""),
            struct.pack(">b", acl.pattern_type),
            _text(acl.principal or ""),
            _text(acl.host or ""),
            struct.pack(">bb", acl.operation, acl.permission_type),
        )
    )


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">h", len(data)) + data
