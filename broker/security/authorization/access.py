"""The permissions of one request: asks the authorizer for its sender.

`EVERYTHING` is used without an authorizer. Denials of what the client named itself are logged as by Kafka's
`kafka.authorizer.logger`, in a limited number of lines; denials in listings, such as of all topics, are not logged.
"""

import logging
from collections.abc import Iterable

from ....config.keys.ip_address import network_of
from ....network.admission.peer_log_limit import PeerLogLimit
from ....network.principal import KafkaPrincipal
from ....protocol.acls import CLUSTER_NAME, AclOperation, ResourceType
from ....protocol.errors import ApiError, ErrorCode
from .authorizer import Authorizer

CODES = {
    ResourceType.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ResourceType.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ResourceType.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ResourceType.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
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
    ),
    ResourceType.GROUP: (AclOperation.READ, AclOperation.DELETE, AclOperation.DESCRIBE),
    ResourceType.CLUSTER: (
        AclOperation.CREATE,
        AclOperation.ALTER,
        AclOperation.DESCRIBE,
        AclOperation.CLUSTER_ACTION,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
        AclOperation.IDEMPOTENT_WRITE,
    ),
}
"""The operations on each type of resource (Kafka 3.9 `AclEntry.supportedOperations`)."""


def _bit_field(operations: Iterable[AclOperation]) -> int:
    return sum(1 << operation for operation in operations)


ALL_OPERATIONS = {kind: _bit_field(operations) for kind, operations in OPERATIONS.items()}
NOT_ASKED = -(1 << 31)
"""The value of a bit field that the client did not ask for."""

MOST_NAME_LOGGED = 300
"""The most characters of a logged name: topics have 249 at most, but other names of clients up to 32,767."""

log = logging.getLogger(__name__)


class Access:
    """Permissions that allow everything; the base class of restricted ones."""

    __slots__ = ()

    def may(self, operation: AclOperation, kind: ResourceType, name: str) -> bool:
        """Whether the operation is allowed; a denial is logged."""
        return True

    def may_see(self, operation: AclOperation, kind: ResourceType, name: str) -> bool:
        """As `may`, for a resource that the client did not name itself: a denial is not logged."""
        return True

    def may_some(self, operation: AclOperation, kind: ResourceType) -> bool:
        """Whether the operation is allowed on any resource of that type."""
        return True

    def ensure_allows(self, operation: AclOperation, kind: ResourceType, name: str = CLUSTER_NAME) -> None:
        """Raises ApiError 29, 30, 31 or 53 when it is not allowed."""
        if not self.may(operation, kind, name):
            raise make_denial(operation, kind, name)

    def authorized_operations(self, kind: ResourceType, name: str = CLUSTER_NAME) -> int:
        """The bit field of `authorized_operations` in responses (KIP-430): bit n is operation n."""
        return ALL_OPERATIONS[kind]


EVERYTHING = Access()


class RestrictedAccess(Access):
    """The authorizer's decisions for one request.

    They are cached, so that a decision never changes and a denial is logged once.
    """

    __slots__ = ("_authorizer", "_denied", "_host", "_known", "_lines", "_principal", "_request")

    def __init__(
        self, authorizer: Authorizer, principal: KafkaPrincipal, host: str, request: str, lines: PeerLogLimit
    ) -> None:
        self._authorizer = authorizer
        self._lines = lines
        self._principal = principal
        self._host = host
        self._request = request
        self._known: dict[tuple[AclOperation, ResourceType, str], bool] = {}
        self._denied: set[tuple[AclOperation, ResourceType, str]] = set()

    def may(self, operation: AclOperation, kind: ResourceType, name: str) -> bool:
        allowed = self.may_see(operation, kind, name)
        key = operation, kind, name
        if not allowed and key not in self._denied:
            self._denied.add(key)
            line = (
                f"Principal = {self._principal} is Denied operation = {operation.name} from host = {self._host} "
                f"on resource = {kind.name}:LITERAL:{name[:MOST_NAME_LOGGED]} for request = {self._request}"
            )
            self._lines.log_info(log, network_of(self._host), line)
        return allowed

    def may_see(self, operation: AclOperation, kind: ResourceType, name: str) -> bool:
        key = (operation, kind, name)
        allowed = self._known.get(key)
        if allowed is None:
            allowed = self._known[key] = self._authorizer.allows(self._principal, self._host, *key)
        return allowed

    def may_some(self, operation: AclOperation, kind: ResourceType) -> bool:
        return self._authorizer.allows_some(self._principal, self._host, operation, kind)

    def authorized_operations(self, kind: ResourceType, name: str = CLUSTER_NAME) -> int:
        return _bit_field(each for each in OPERATIONS[kind] if self.may_see(each, kind, name))


def cluster_operations(access: Access, is_asked: bool) -> int:
    """The bit field of allowed operations on the cluster; 0 without DESCRIBE, NOT_ASKED where the client did not
    ask.
    """
    if not is_asked:
        return NOT_ASKED
    may_know = access.may(AclOperation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME)
    return access.authorized_operations(ResourceType.CLUSTER) if may_know else 0


def make_denial(operation: AclOperation, kind: ResourceType, name: str) -> ApiError:
    """The error for a denied operation."""
    return ApiError(f"{operation.name} is not allowed on {kind.name} {name}", CODES[kind])
