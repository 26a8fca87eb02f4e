"""Decides whether a principal may do something: `StandardAuthorizer` of Kafka 3.9, without its loading phase.

In this order:
1. `super.users` may do everything.
2. A rule that denies, and matches, denies.
3. A rule that allows, and matches, allows. For these, READ, WRITE, DELETE and ALTER imply DESCRIBE, and ALTER_CONFIGS
   implies DESCRIBE_CONFIGS.
4. If any rule applies to the resource: no.
5. What `allow.everyone.if.no.acl.found` says.

A rule applies to the resource of its type with its name, to all resources (`*`), or to those whose names begin with its
name. It matches if its principal is that of the request or `User:*`, its host that of the request or `*`, and its
operation that of the request or ALL. Hosts are compared as addresses, not as texts (Kafka compares texts).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ....config.keys.ip_address import address_forms, canonical_address
from ....network.principal import KafkaPrincipal
from ....protocol.acls import ANY_USER, WILDCARD, Acl, AclOperation, PatternType, PermissionType, ResourceType

IMPLIED_BY = {
    AclOperation.DESCRIBE: frozenset(
        {AclOperation.DESCRIBE, AclOperation.READ, AclOperation.WRITE, AclOperation.DELETE, AclOperation.ALTER}
    ),
    AclOperation.DESCRIBE_CONFIGS: frozenset({AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS}),
}
"""By operation, the operations whose permission includes it."""


@dataclass(slots=True)
class _Index:
    """The rules for resources of one type: by literal name, by prefix, how long prefixes are. Hosts are canonical."""

    literal: dict[str, list[Acl]] = field(default_factory=dict)
    prefixed: dict[str, list[Acl]] = field(default_factory=dict)
    lengths: tuple[int, ...] = ()


class Authorizer:
    """Decides by the rules in force. `super_users` are principals such as `User:alice`."""

    def __init__(self, super_users: frozenset[str], *, allows_without_acls: bool, acls: Iterable[Acl] = ()) -> None:
        self.super_users = super_users
        self.allows_without_acls = allows_without_acls
        self._indexes: defaultdict[ResourceType, _Index] = defaultdict(_Index)
        self._acls: Mapping[Acl, object] = {}
        self.replace(dict.fromkeys(acls))

    def replace(self, acls: Mapping[Acl, object]) -> None:
        """Puts these rules into force in place of all others; takes time for each changed rule only."""
        if acls is self._acls:
            return
        before, self._acls = self._acls, acls
        for acl in set(before).difference(acls):
            names = self._rules_by_name(acl)
            known = names[acl.resource_name]
            known.remove(acl if acl.host == WILDCARD else _with_canonical_host(acl))
            if not known:
                del names[acl.resource_name]
        for acl in set(acls).difference(before):
            names = self._rules_by_name(acl)
            names.setdefault(acl.resource_name, []).append(acl if acl.host == WILDCARD else _with_canonical_host(acl))
        for index in self._indexes.values():
            index.lengths = tuple({len(name) for name in index.prefixed})

    def _rules_by_name(self, acl: Acl) -> dict[str, list[Acl]]:
        """The rules by name of the same resource and pattern type as this one."""
        index = self._indexes[acl.resource_type]
        return index.literal if acl.pattern_type is PatternType.LITERAL else index.prefixed

    def allows(
        self, principal: KafkaPrincipal, host: str, operation: AclOperation, kind: ResourceType, name: str
    ) -> bool:
        """Whether the principal, from the address `host`, may do this to the resource."""
        who = str(principal)
        if who in self.super_users:
            return True
        enough = IMPLIED_BY.get(operation, (operation,))
        hosts = (WILDCARD, *address_forms(host))
        has_rules = is_allowed = False
        for acl in self._applicable_rules(kind, name):
            has_rules = True
            if acl.principal not in (who, ANY_USER) or acl.host not in hosts:
                continue
            if acl.permission_type is PermissionType.DENY:
                if acl.operation in (AclOperation.ALL, operation):
                    return False
            elif acl.operation is AclOperation.ALL or acl.operation in enough:
                is_allowed = True
        return is_allowed if has_rules else self.allows_without_acls

    def _applicable_rules(self, kind: ResourceType, name: str) -> Iterator[Acl]:
        index = self._indexes.get(kind)
        if index is None:
            return
        yield from index.literal.get(name, ())
        if name != WILDCARD:
            yield from index.literal.get(WILDCARD, ())
        for length in index.lengths:
            if length <= len(name):
                yield from index.prefixed.get(name[:length], ())

    def allows_some(self, principal: KafkaPrincipal, host: str, operation: AclOperation, kind: ResourceType) -> bool:
        """Whether the principal may do this to any resource of a type (KIP-679), as far as the rules show.

        As in Kafka (`Authorizer.authorizeByResourceType`), operations that imply it do not count here, but it is enough
        to be allowed for a name without rules.
        """
        if self.allows(principal, host, operation, kind, "hardcode"):
            return True
        allowed: list[Acl] = []
        denied: set[tuple[PatternType, str]] = set()
        for acl in self._matching_rules(str(principal), host, operation, kind):
            if acl.permission_type is PermissionType.ALLOW:
                allowed.append(acl)
            else:
                denied.add((acl.pattern_type, acl.resource_name))
        if (PatternType.LITERAL, WILDCARD) in denied:
            return False
        return any(not _is_covered(acl, denied) for acl in allowed)

    def _matching_rules(self, who: str, host: str, operation: AclOperation, kind: ResourceType) -> Iterator[Acl]:
        """Yields the rules of that type, of any name, that match this principal, host and operation."""
        index = self._indexes.get(kind, _Index())
        hosts = (WILDCARD, *address_forms(host))
        for by_name in (index.literal, index.prefixed):
            for acls in by_name.values():
                for acl in acls:
                    if (
                        acl.principal in (who, ANY_USER)
                        and acl.host in hosts
                        and acl.operation in (AclOperation.ALL, operation)
                    ):
                        yield acl


def _with_canonical_host(acl: Acl) -> Acl:
    host = canonical_address(acl.host)
    return acl if host == acl.host else replace(acl, host=host)


def _is_covered(acl: Acl, denied: set[tuple[PatternType, str]]) -> bool:
    """Whether all that the rule allows is denied, by the same name or by a prefix of it."""
    name = acl.resource_name
    if acl.pattern_type is PatternType.LITERAL:
        if name == WILDCARD:
            return False
        if (PatternType.LITERAL, name) in denied:
            return True
    return any((PatternType.PREFIXED, name[:length]) in denied for length in range(1, len(name) + 1))
