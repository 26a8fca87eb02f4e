"""The client quotas in force and their current usage.

Usage is kept for the latest 10,000 users and clients of each kind at most, fewer with long names: clients choose the
names.
"""

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from ...network.admission.remembered_names import RememberedNames
from ...network.clock import Clock
from ...storage.metadata.cluster_state import QuotaEntity
from .quota_lookup import AddressQuotas, Entity, Quota, QuotaTable
from .rate import Rate
from .token_bucket import TokenBucket
from .usage_metrics import QuotaUsage

CLIENT_QUOTAS = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
ADDRESS_QUOTA = "connection_creation_rate"
MOST_MEASURED = 10_000
MOST_BYTES = (1 << 63) - 1

M = TypeVar("M")


class MeterByEntity(Generic[M]):
    """The meter of each entity, made when it is first asked for."""

    def __init__(self, make: Callable[[], M]) -> None:
        self._make = make
        self._of: RememberedNames[Entity, M] = RememberedNames(MOST_MEASURED)

    def of(self, entity: Entity) -> M:
        found = self._of.pop(entity) or self._make()
        self._of.put(entity, found)  # the last in order: the first ones are dropped when there are too many
        return found


class ClientQuotas:
    """Quotas of users and clients. `on_change`, if set, is called after each change of the quotas."""

    def __init__(self, clock: Clock, samples: int, window_s: int, usage: QuotaUsage) -> None:
        self.clock = clock
        self.usage = usage
        self.samples = samples
        self.window_s = window_s
        self.on_change: Callable[[], None] | None = None
        self.produced, self.fetched, self.busy = (
            MeterByEntity(lambda: Rate(samples, window_s * 1000)) for _ in range(3)
        )
        self.mutations = MeterByEntity(lambda: TokenBucket(samples * window_s))
        self._stored: Mapping[QuotaEntity, Mapping[str, float]] | None = None
        self.replace({})

    def replace(self, quotas: Mapping[QuotaEntity, Mapping[str, float]]) -> None:
        """Puts these quotas into force; past usage counts against them."""
        if quotas is self._stored:
            return
        self._stored = quotas
        keys = set[str]().union(*quotas.values())

        def set_for(key: str) -> Mapping[QuotaEntity, Mapping[str, float]]:
            return quotas if key in keys else {}  # there may be very many to look through

        self.producer_byte_rate, self.consumer_byte_rate, self.request_percentage, self.controller_mutation_rate = (
            QuotaTable(set_for(key), key) for key in CLIENT_QUOTAS
        )
        self.connection_creation_rate = AddressQuotas(set_for(ADDRESS_QUOTA), ADDRESS_QUOTA)
        if self.on_change is not None:
            self.on_change()

    @property
    def limits_requests(self) -> bool:
        """Whether there is a quota that requests count against."""
        return bool(
            self.producer_byte_rate
            or self.consumer_byte_rate
            or self.request_percentage
            or self.controller_mutation_rate
        )

    def burst_bytes(self, quota: Quota) -> int:
        """The bytes that an idle client may use at once without a wait."""
        return int(min(quota.bound * (self.samples - 1) * self.window_s, MOST_BYTES))
