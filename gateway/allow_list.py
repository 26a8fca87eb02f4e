"""Which addresses may connect, and until when: `10.1.0.0/16`, `10.2.3.4 until 2027-06-30` (that day included, UTC)."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from ..network.clock import Clock
from ..network.log_line_limit import LogLineLimit, repetition_text
from ..network.metrics.instruments import Instruments

REFUSE_MS = 1_000
"""A refused connection is closed after this time; closed at once, the client would reconnect at once."""
DAY_MS = 86_400_000
ENDED = "allow: %s has ended; who is in no other network is refused"
Network = IPv4Network | IPv6Network

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AllowedNetwork:
    """`until`: the last day, None for ever."""

    network: Network
    until: date | None = None

    def __str__(self) -> str:
        return f"{self.network}" + ("" if self.until is None else f" until {self.until}")

    def has_ended(self, today: date) -> bool:
        return self.until is not None and today > self.until


def parse_allowed_network(text: str) -> AllowedNetwork:
    """Parses an entry of `allow`: a network, perhaps with a last day. Raises: ValueError."""
    network, word, day = text.strip().partition(" until ")
    return AllowedNetwork(ip_network(network.strip()), date.fromisoformat(day.strip()) if word else None)


def list_ended_entries(networks: Sequence[AllowedNetwork], now_ms: int) -> Sequence[AllowedNetwork]:
    """The entries whose last day is over."""
    today = _utc_date(now_ms)
    return [each for each in networks if each.has_ended(today)]


def _utc_date(now_ms: int) -> date:
    return datetime.fromtimestamp(now_ms / 1000, UTC).date()


class AllowList:
    """Admits connections, with the methods of `ConnectionRates`. `networks` may be replaced; empty: all may connect."""

    def __init__(self, networks: Sequence[AllowedNetwork], clock: Clock) -> None:
        self.networks = networks
        self._clock = clock
        self._lines = LogLineLimit(clock)

    def refusal_delay_ms(self, address: str) -> int:
        """Returns 0 if an address may connect; else logs why not, and returns when to close its connection."""
        why = self._reason_to_refuse(address)
        if not why:
            return 0
        left_out = self._lines.try_to_log(address)
        if left_out is not None:
            log.warning("refusing %s%s: %s; see allow in the settings", address, repetition_text(left_out), why)
        return REFUSE_MS

    def server_pause_ms(self) -> int:
        return 0

    def listener_pause_ms(self, listener: str) -> int:
        return 0

    def _reason_to_refuse(self, address: str) -> str:
        """Why an address may not connect, "" if it may."""
        if not self.networks:
            return ""
        ip = ip_address(address.partition("%")[0])
        ip = getattr(ip, "ipv4_mapped", None) or ip
        found = [each for each in self.networks if each.network.version == ip.version and ip in each.network]
        today = _utc_date(self._clock.now_ms())
        if any(not each.has_ended(today) for each in found):
            return ""
        days = [each.until for each in found if each.until is not None]
        return f"it was allowed until {max(days)}" if days else "it is in no network that is allowed"


class EndedEntriesWarnings:
    """Warns of the entries that have ended: at the start, when the list is replaced, and when one ends; also a gauge. A
    gateway has one, however many workers it has."""

    def __init__(self, networks: Sequence[AllowedNetwork], clock: Clock, instruments: Instruments) -> None:
        self._networks = networks
        self._clock = clock
        self._warned: Sequence[AllowedNetwork] = ()
        self._watching: asyncio.Task[None] | None = None
        instruments.gauge(
            "stepdown_gateway_allow_ended",
            "Entries of allow whose last day is over.",
            lambda: len(list_ended_entries(self._networks, clock.now_ms())),
        )

    def start(self) -> None:
        self.replace(self._networks)

    def replace(self, networks: Sequence[AllowedNetwork]) -> None:
        """Watches a new list, and logs its entries that have ended."""
        self.stop()
        self._networks, self._warned = networks, ()
        self._warn_of_ended_entries()
        if any(each.until is not None and each not in self._warned for each in networks):
            self._watching = asyncio.create_task(self._watch())

    def stop(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            self._watching = None

    async def _watch(self) -> None:
        while True:
            await self._clock.sleep(DAY_MS - self._clock.now_ms() % DAY_MS)
            self._warn_of_ended_entries()

    def _warn_of_ended_entries(self) -> None:
        ended = list_ended_entries(self._networks, self._clock.now_ms())
        for each in ended:
            if each not in self._warned:
                log.warning(ENDED, each)
        self._warned = ended
