"""Hosts of access rules."""

import pytest
from stepdown.broker.security.authorization.authorizer import Authorizer
from stepdown.network.principal import KafkaPrincipal
from stepdown.protocol.acls import Acl, AclOperation, PatternType, PermissionType, ResourceType

ALICE = KafkaPrincipal("User", "alice")


def rule(host: str, permission: PermissionType) -> Acl:
    return Acl(
        resource_type=ResourceType.TOPIC,
        resource_name="orders",
        pattern_type=PatternType.LITERAL,
        principal="User:alice",
        host=host,
        operation=AclOperation.READ,
        permission_type=permission,
    )


FORMS = [
    ("::1", "0:0:0:0:0:0:0:1"),
    ("0:0:0:0:0:0:0:1", "::1"),
    ("2001:DB8::0A", "2001:db8::a"),
    ("::ffff:10.0.0.1", "10.0.0.1"),
    ("10.0.0.1", "::ffff:10.0.0.1"),
    ("010.0.0.1", "10.0.0.1"),
    ("fe80::1", "fe80::1%eth0"),
    ("fe80::1%eth0", "fe80::1%eth0"),
]


@pytest.mark.parametrize(("written", "client"), FORMS)
def test_a_rule_that_denies_a_host_denies_it_however_its_address_is_written(written: str, client: str) -> None:
    """A DENY for `::1` never matched: texts were compared, and one side wrote 0:0:0:0:0:0:0:1."""
    acls = [rule("*", PermissionType.ALLOW), rule(written, PermissionType.DENY)]
    authorizer = Authorizer(frozenset(), allows_without_acls=False, acls=acls)
    assert not authorizer.allows(ALICE, client, AclOperation.READ, ResourceType.TOPIC, "orders")
    assert not authorizer.allows_some(ALICE, client, AclOperation.READ, ResourceType.TOPIC)


@pytest.mark.parametrize(("written", "client"), [("::2", "::1"), ("fe80::1%eth1", "fe80::1%eth0"), ("10.0.0.1", "::1")])
def test_a_rule_for_another_host_does_not_match(written: str, client: str) -> None:
    authorizer = Authorizer(frozenset(), allows_without_acls=False, acls=[rule(written, PermissionType.ALLOW)])
    assert not authorizer.allows(ALICE, client, AclOperation.READ, ResourceType.TOPIC, "orders")
