"""Decodes ACLs, SCRAM credentials and quotas in ZooKeeper.

    /kafka-acl/<Type>/<name>                          {"acls": [{"principal", "permissionType", "operation", "host"}]}
    /kafka-acl-extended/<pattern>/<Type>/<name>       likewise; the pattern is `prefixed` (KIP-290)
    /config/users/<user>                              {"config": {"SCRAM-SHA-256": "salt=…,stored_key=…,server_key=…,
                                                      iterations=4096", "producer_byte_rate": "1024"}}
    /config/clients/<client>   /config/users/<user>/clients/<client>   /config/ips/<address>      quotas

Names of users and clients are percent-encoded, `<default>` is the default. Source: Kafka 3.9 `ZkData`,
`ZkAclMigrationClient`, `ZkConfigMigrationClient`, `Sanitizer`.
"""

from collections.abc import Iterator
from math import isfinite, nan
from urllib.parse import unquote

from ...protocol.acls import Acl, AclOperation, PatternType, PermissionType, ResourceType
from ...protocol.scram import HASHES, ScramCredential, base64_bytes
from ..metadata.cluster_state import QuotaEntity
from .znode_json import MalformedZnode, read_object, read_texts
from .znode_tree import ZnodeTree

LITERAL_RULES = "/kafka-acl"
OTHER_RULES = "/kafka-acl-extended"
USERS, CLIENTS, ADDRESSES = "/config/users", "/config/clients", "/config/ips"
DEFAULT = "<default>"

_PATTERNS = {"prefixed": PatternType.PREFIXED, "literal": PatternType.LITERAL}


def read_acls(tree: ZnodeTree) -> list[Acl]:
    """Reads all ACLs, ordered. Raises: MalformedZnode."""
    rules = set(_rules_below(tree, LITERAL_RULES, PatternType.LITERAL))
    for name in tree.children(OTHER_RULES):
        pattern = _PATTERNS.get(name.lower())
        if pattern is None:
            raise MalformedZnode(f"ZooKeeper's {OTHER_RULES}/{name}: a pattern type that is not known")
        rules.update(_rules_below(tree, f"{OTHER_RULES}/{name}", pattern))
    return sorted(rules)


def _rules_below(tree: ZnodeTree, path: str, pattern: PatternType) -> Iterator[Acl]:
    for kind in tree.children(path):
        for name in tree.children(f"{path}/{kind}"):
            node = f"{path}/{kind}/{name}"
            rows = read_object(tree, node).get("acls", [])
            for row in rows if isinstance(rows, list) else ():
                yield _parse_rule(node, kind, name, pattern, read_texts(node, row))


def _parse_rule(path: str, kind: str, name: str, pattern: PatternType, fields: dict[str, str]) -> Acl:
    try:
        return Acl(
            resource_type=ResourceType[_to_constant_name(kind)],
            resource_name=name,
            pattern_type=pattern,
            principal=fields["principal"],
            host=fields["host"],
            operation=AclOperation[_to_constant_name(fields["operation"])],
            permission_type=PermissionType[_to_constant_name(fields["permissionType"])],
        )
    except KeyError as fault:
        raise MalformedZnode(f"ZooKeeper's {path}: the access rule {fields} lacks or has no such {fault}") from fault


def _to_constant_name(text: str) -> str:
    """Converts `ClusterAction` to CLUSTER_ACTION."""
    return "".join(f"_{each}" if each.isupper() and at else each.upper() for at, each in enumerate(text))


def read_scram_credentials(tree: ZnodeTree) -> dict[tuple[str, str], ScramCredential]:
    """Reads SCRAM credentials by user and mechanism. Raises: MalformedZnode, without showing any keys."""
    found = {}
    for name in tree.children(USERS):
        path = f"{USERS}/{name}"
        for mechanism, text in _read_settings(tree, path).items():
            if mechanism in HASHES:
                found[unquote(name), mechanism] = _parse_credential(path, text)
    return found


def _parse_credential(path: str, text: str) -> ScramCredential:
    fields = dict(part.split("=", 1) for part in text.split(",") if "=" in part)
    try:
        return ScramCredential(
            salt=base64_bytes(fields["salt"]),
            stored_key=base64_bytes(fields["stored_key"]),
            server_key=base64_bytes(fields["server_key"]),
            iterations=int(fields["iterations"]),
        )
    except (KeyError, ValueError):
        raise MalformedZnode(f"ZooKeeper's {path}: salt, stored_key, server_key and iterations expected") from None


def read_quotas(tree: ZnodeTree) -> dict[QuotaEntity, dict[str, float]]:
    """Reads all quotas by entity. Raises: MalformedZnode."""
    found: dict[QuotaEntity, dict[str, float]] = {}
    for path, entity in _iter_quota_entities(tree):
        quotas = {
            name: _parse_rate(path, text) for name, text in _read_settings(tree, path).items() if name not in HASHES
        }
        if quotas:
            found[entity] = quotas
    return found


def _iter_quota_entities(tree: ZnodeTree) -> Iterator[tuple[str, QuotaEntity]]:
    for user in tree.children(USERS):
        yield f"{USERS}/{user}", (("user", _entity_name(user)),)
        for client in tree.children(f"{USERS}/{user}/clients"):
            entity = (("client-id", _entity_name(client)), ("user", _entity_name(user)))
            yield f"{USERS}/{user}/clients/{client}", entity
    for client in tree.children(CLIENTS):
        yield f"{CLIENTS}/{client}", (("client-id", _entity_name(client)),)
    for address in tree.children(ADDRESSES):
        yield f"{ADDRESSES}/{address}", (("ip", _entity_name(address)),)


def _entity_name(name: str) -> str | None:
    return None if name == DEFAULT else unquote(name)


def _read_settings(tree: ZnodeTree, path: str) -> dict[str, str]:
    return read_texts(path, read_object(tree, path).get("config", {}))


def _parse_rate(path: str, text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = nan
    if not isfinite(rate):
        raise MalformedZnode(f"ZooKeeper's {path}: a number expected, found {text[:100]!r}")
    return rate
