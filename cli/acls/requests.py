"""What the `acls` commands ask of a broker, and the answers as plain values."""

from __future__ import annotations

from collections.abc import Sequence

from ...protocol.acls import Acl, AclFilter, AclOperation, PatternType, PermissionType, ResourceType
from ...protocol.api import ApiKey
from ...protocol.errors import error_name
from ...protocol.messages.create_acls import AclCreation, CreateAclsRequest
from ...protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from ...protocol.messages.describe_acls import DescribeAclsRequest
from ..support.broker_client import BrokerClient
from ..support.failures import CommandFailed

PREFIXED_FROM = (1, 0x7FFF)
HINTS = {
    "SECURITY_DISABLED": "Start the broker with authorizer.class.name; `stepdown config` tells how.",
    "CLUSTER_AUTHORIZATION_FAILED": "Seeing rules takes DESCRIBE on the cluster, changing them ALTER; super.users may.",
}
"""What to do next, by the error that the broker answered."""


def found(client: BrokerClient, wanted: AclFilter) -> list[Acl]:
    """The rules that the filter means."""
    response = client.call(
        ApiKey.DESCRIBE_ACLS,
        lambda version: DescribeAclsRequest(
            resource_type_filter=wanted.resource_type,
            resource_name_filter=wanted.resource_name,
            pattern_type_filter=wanted.pattern_type,
            principal_filter=wanted.principal,
            host_filter=wanted.host,
            operation=wanted.operation,
            permission_type=wanted.permission_type,
        ),
        among=PREFIXED_FROM,
    )
    _check(response.error_code, response.error_message)
    return [
        _acl(resource.resource_type, resource.resource_name, resource.pattern_type, acl)
        for resource in response.resources
        for acl in resource.acls
    ]


def add(client: BrokerClient, acls: Sequence[Acl]) -> None:
    """Adds rules."""
    creations = [
        AclCreation(
            resource_type=acl.resource_type,
            resource_name=acl.resource_name,
            resource_pattern_type=acl.pattern_type,
            principal=acl.principal,
            host=acl.host,
            operation=acl.operation,
            permission_type=acl.permission_type,
        )
        for acl in acls
    ]
    response = client.call(
        ApiKey.CREATE_ACLS, lambda version: CreateAclsRequest(creations=creations), among=PREFIXED_FROM
    )
    for result in response.results:
        _check(result.error_code, result.error_message)


def remove(client: BrokerClient, filters: Sequence[AclFilter]) -> list[Acl]:
    """Removes the rules that the filters mean, and tells which these were."""
    wanted = [
        DeleteAclsFilter(
            resource_type_filter=each.resource_type,
            resource_name_filter=each.resource_name,
            pattern_type_filter=each.pattern_type,
            principal_filter=each.principal,
            host_filter=each.host,
            operation=each.operation,
            permission_type=each.permission_type,
        )
        for each in filters
    ]
    response = client.call(ApiKey.DELETE_ACLS, lambda version: DeleteAclsRequest(filters=wanted), among=PREFIXED_FROM)
    removed: dict[Acl, None] = {}
    for result in response.filter_results:
        _check(result.error_code, result.error_message)
        for acl in result.matching_acls:
            _check(acl.error_code, acl.error_message)
            removed[_acl(acl.resource_type, acl.resource_name, acl.pattern_type, acl)] = None
    return list(removed)


def _acl(kind: int, name: str, pattern: int, entry: object) -> Acl:
    """The rule; `entry` has what resources of a rule do not."""
    values = {part: getattr(entry, part) for part in ("principal", "host", "operation", "permission_type")}
    return Acl(
        resource_type=ResourceType(kind),
        resource_name=name,
        pattern_type=PatternType(pattern),
        principal=values["principal"],
        host=values["host"],
        operation=AclOperation(values["operation"]),
        permission_type=PermissionType(values["permission_type"]),
    )


def _check(code: int, message: str | None) -> None:
    if code:
        name = error_name(code)
        raise CommandFailed(f"{message} ({name})" if message else name, HINTS.get(name, ""))
