"""What the handlers of one broker work with: the core, the topics and the two coordinators.

`Broker` adds start and stop, which handlers do not call.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..config import BrokerSettings, Layers
from ..network.clock import Clock
from ..network.loop_watch import LoopHold
from ..protocol.coordinator.partitioning import partition_of
from ..protocol.errors import ApiError, ErrorCode
from ..storage.files.files import Files
from .core import Core
from .maintenance.log_maintenance import LogMaintenance
from .metadata.log_moves import LogMoves
from .metadata.topic_rules import TRANSACTION_TOPIC
from .metadata.topics import Topics
from .security.authorization.acls import Acls
from .security.authorization.authorizer import Authorizer
from .security.scram_credentials import ScramCredentials

if TYPE_CHECKING:
    from .groups.coordinator import GroupCoordinator
    from .transactions.coordinator import TransactionCoordinator
    from .transactions.markers import MarkerWriter


MakeTopics = Callable[[Core, Layers, LogMoves], Topics]
"""Makes the topics of a broker."""


class Services(Core):
    """The core, the topics, and coordinators that begin when they are first asked for."""

    def __init__(
        self,
        settings: BrokerSettings,
        layers: Layers,
        clock: Clock | None,
        files: Files | None,
        make_topics: MakeTopics = Topics,
    ) -> None:
        super().__init__(settings, clock, files)
        self.started_ms = self.clock.now_ms()
        """When this broker was made, in milliseconds since 1970."""
        self.loop_holds: dict[str, LoopHold] = {}
        """By API, the latest request that held the event loop."""
        with self.abandon_on_failure():
            self.topics = make_topics(self, layers, LogMoves(self))
            self.topics.on_deleted.append(self.metrics.forget_topics)
            self._acls: Acls | None = None
            if settings.authorizer_class_name:
                self.authorizer = self._make_authorizer()
                self._acls = Acls(self.topics.store, self.topics.notify_client_change)
            self.topics.on_clients.append(self._apply_quotas_and_acls)
            self._apply_quotas_and_acls()
            self.scram_credentials = ScramCredentials(lambda: self.topics.store)
        self._groups: GroupCoordinator | None = None
        self._transactions: TransactionCoordinator | None = None
        self._is_stopping = False
        self.find_peer: Callable[[int], Services | None] = lambda _: None
        """Returns another broker of the cluster by its id; None where it cannot be reached."""
        self.maintenance = LogMaintenance(self)

    def _make_authorizer(self) -> Authorizer:
        return Authorizer(
            self.settings.super_users,
            allows_without_acls=self.settings.allow_everyone_if_no_acl_found,
        )

    def _apply_quotas_and_acls(self) -> None:
        """Puts the stored quotas and ACLs into force."""
        state = self.topics.store.state
        self.quotas.replace(state.client_quotas)
        if self.authorizer is not None:
            self.authorizer.replace(state.acls)

    @property
    def acls(self) -> Acls:
        """The ACLs. Raises: ApiError SECURITY_DISABLED without an authorizer."""
        if self._acls is None:
            raise ApiError("no authorizer is set, so everything is allowed", ErrorCode.SECURITY_DISABLED)
        return self._acls

    @property
    def groups(self) -> "GroupCoordinator":
        """The group coordinator; its first use imports and starts it.

        Raises: ApiError COORDINATOR_NOT_AVAILABLE where it has not started and the broker is stopping.
        """
        if self._groups is None:
            if self._is_stopping:
                raise ApiError("the broker is stopping", ErrorCode.COORDINATOR_NOT_AVAILABLE)
            from .groups.coordinator import GroupCoordinator

            self._groups = GroupCoordinator(self, self.topics)
            self._groups.start()
        return self._groups

    @property
    def groups_in_use(self) -> "GroupCoordinator | None":
        """The group coordinator if it has started."""
        return self._groups

    @property
    def transactions(self) -> "TransactionCoordinator":
        """The transaction coordinator; its first use imports and starts it.

        Raises: ApiError COORDINATOR_NOT_AVAILABLE where it has not started and the broker is stopping.
        """
        if self._transactions is None:
            if self._is_stopping:
                raise ApiError("the broker is stopping", ErrorCode.COORDINATOR_NOT_AVAILABLE)
            from .transactions.coordinator import TransactionCoordinator

            self._transactions = TransactionCoordinator(self, self.topics, lambda: self.groups, self._markers_of)
            self._transactions.start()
        return self._transactions

    @property
    def transactions_in_use(self) -> "TransactionCoordinator | None":
        """The transaction coordinator if it has started."""
        return self._transactions

    def transactions_for(self, transactional_id: str) -> "TransactionCoordinator":
        """The coordinator of a transactional id, which may be another broker's."""
        topic = self.cluster.topics.get(TRANSACTION_TOPIC)
        if topic is not None:
            leader_id = topic.partitions[partition_of(transactional_id, len(topic.partitions))].leader_id
            peer = None if leader_id == self.cluster.node_id else self.find_peer(leader_id)
            if peer is not None:
                return peer.transactions
        return self.transactions

    def _markers_of(self, node_id: int) -> "MarkerWriter | None":
        peer = self.find_peer(node_id)
        return None if peer is None else peer.transactions.markers
