"""What rules there are in each column of the authorization matrix, and how both brokers get them."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from stepdown.protocol.acls import CLUSTER_NAME, Acl, AclOperation, PatternType, PermissionType, ResourceType
from stepdown.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from stepdown.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from stepdown.protocol.messages.describe_acls import DescribeAclsRequest

from .authorization_requests import GROUP, TOPIC, TRANSACTION
from .client import RawClient
from .deadline import DEADLINE_S

HALF = 0.5
SUBJECT = "User:ANONYMOUS"
KINDS = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID, ResourceType.CLUSTER)
NAMES = {
    ResourceType.TOPIC: TOPIC,
    ResourceType.GROUP: GROUP,
    ResourceType.TRANSACTIONAL_ID: TRANSACTION,
    ResourceType.CLUSTER: CLUSTER_NAME,
}
OPERATIONS = {
    ResourceType.TOPIC: (
        AclOperation.READ,
        AclOperation.WRITE,
        AclOperation.CREATE,
        AclOperation.DELETE,
        AclOperation.ALTER,
        AclOperation.DESCRIBE,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
        AclOperation.ALL,
    ),
    ResourceType.GROUP: (AclOperation.READ, AclOperation.DELETE, AclOperation.DESCRIBE, AclOperation.ALL),
    ResourceType.TRANSACTIONAL_ID: (AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.ALL),
    ResourceType.CLUSTER: (
        AclOperation.CREATE,
        AclOperation.DELETE,
        AclOperation.ALTER,
        AclOperation.DESCRIBE,
        AclOperation.CLUSTER_ACTION,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
        AclOperation.IDEMPOTENT_WRITE,
        AclOperation.ALL,
    ),
}


@dataclass(frozen=True, slots=True)
class Column:
    """The rules of a column, and its name."""

    name: str
    acls: tuple[Acl, ...]


def rule(
    kind: ResourceType,
    name: str,
    operation: AclOperation,
    *,
    pattern: PatternType = PatternType.LITERAL,
    permission: PermissionType = PermissionType.ALLOW,
    principal: str = SUBJECT,
    host: str = "*",
) -> Acl:
    return Acl(
        resource_type=kind,
        resource_name=name,
        pattern_type=pattern,
        principal=principal,
        host=host,
        operation=operation,
        permission_type=permission,
    )


EVERYTHING = tuple(
    rule(kind, CLUSTER_NAME if kind is ResourceType.CLUSTER else "*", AclOperation.ALL) for kind in KINDS
)


def columns() -> Iterator[Column]:
    """No rule, everything, and each operation of each type allowed and denied in each way."""
    yield Column("nothing", ())
    yield Column("everything", EVERYTHING)
    for kind in KINDS:
        for operation in OPERATIONS[kind]:
            yield from _columns_of(kind, operation)
    elsewhere = tuple(rule(kind, NAMES[kind], AclOperation.ALL, host="10.11.12.13") for kind in KINDS)
    yield Column("everything from another host", elsewhere)
    others = tuple(rule(kind, NAMES[kind], AclOperation.ALL, principal="User:bob") for kind in KINDS)
    yield Column("everything to somebody else", others)
    anybody = tuple(rule(kind, NAMES[kind], AclOperation.ALL, principal="User:*") for kind in KINDS)
    yield Column("everything to everybody", anybody)


def _columns_of(kind: ResourceType, operation: AclOperation) -> Iterator[Column]:
    what = f"{kind.name} {operation.name}"
    name = NAMES[kind]
    # What the others need to get as far as this operation.
    rest = tuple(acl for acl in EVERYTHING if acl.resource_type is not kind)
    yield Column(f"only {what}", (rule(kind, name, operation),))
    yield Column(f"{what}, and everything else", (rule(kind, name, operation), *rest))
    denied = rule(kind, name, operation, permission=PermissionType.DENY)
    yield Column(f"everything but {what}", (*EVERYTHING, denied))
    if kind is ResourceType.CLUSTER:
        return
    prefix = rule(kind, name[:2], operation, pattern=PatternType.PREFIXED)
    yield Column(f"{what} by prefix", (prefix, *rest))
    yield Column(f"{what} of all", (rule(kind, "*", operation), *rest))
    no_prefix = rule(kind, name[:2], operation, pattern=PatternType.PREFIXED, permission=PermissionType.DENY)
    yield Column(f"everything but {what} by prefix", (*EVERYTHING, no_prefix))


def random_column(dice: Random) -> Column:
    """Up to six rules about what the requests name, of which some are not for the subject; one time in two beside all
    rights."""
    acls = [_random_rule(dice) for _ in range(dice.randint(1, 6))]
    given = EVERYTHING if dice.random() < HALF else ()
    return Column(
        ", ".join(map(_in_short, acls)) + (", and everything" if given else ""), (*dict.fromkeys((*given, *acls)),)
    )


def _random_rule(dice: Random) -> Acl:
    kind = dice.choice(KINDS)
    name, pattern = NAMES[kind], PatternType.LITERAL
    if kind is not ResourceType.CLUSTER:
        prefix = name[: dice.randint(1, len(name))]
        name, pattern = dice.choice(((name, pattern), ("*", pattern), (prefix, PatternType.PREFIXED)))
    return rule(
        kind,
        name,
        dice.choice(OPERATIONS[kind]),
        pattern=pattern,
        permission=dice.choice((PermissionType.ALLOW, PermissionType.ALLOW, PermissionType.DENY)),
        principal=dice.choice((SUBJECT, SUBJECT, "User:*", "User:bob")),
        host=dice.choice(("*", "127.0.0.1", "127.0.0.1", "0:0:0:0:0:0:0:1", "10.11.12.13")),
    )


def _in_short(acl: Acl) -> str:
    name = f"{acl.pattern_type.name} {acl.resource_name}"
    who = f"{acl.principal} from {acl.host}"
    return f"{acl.permission_type.name} {acl.resource_type.name} {name} {acl.operation.name} {who}"


async def set_rules(admin: RawClient, acls: Sequence[Acl]) -> None:
    """These rules, and no others; returns when the broker acts on them."""
    anything = {"resource_name_filter": None, "principal_filter": None, "host_filter": None}
    open_filter = {
        "resource_type_filter": 1,
        "pattern_type_filter": 1,
        "operation": 1,
        "permission_type": 1,
        **anything,
    }
    await admin.send(DeleteAclsRequest(filters=[DeleteAclsFilter(**open_filter)]), 3)
    if acls:
        answer = await admin.send(CreateAclsRequest(creations=[_creation(acl) for acl in acls]), 3)
        assert not any(result.error_code for result in answer.results), answer
    async with asyncio.timeout(DEADLINE_S):
        while await _shown(admin, open_filter) != set(acls):
            pass


async def _shown(admin: RawClient, open_filter: dict[str, object]) -> set[Acl]:
    answer = await admin.send(DescribeAclsRequest(**open_filter), 3)  # type: ignore[arg-type]
    return {
        Acl(
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
            pattern_type=resource.pattern_type,
            principal=acl.principal,
            host=acl.host,
            operation=acl.operation,
            permission_type=acl.permission_type,
        )
        for resource in answer.resources
        for acl in resource.acls
    }


def _creation(acl: Acl) -> AclCreation:
    return AclCreation(
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        resource_pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission_type,
    )
