"""Warns of advertised hosts that this machine cannot resolve. Clients may resolve them, so nothing is refused."""

import asyncio
import logging
from collections.abc import Iterable

from ...client.host_lookups import HostLookups

PATIENCE_S = 10.0
"""For how long all of the lookups are waited for."""

log = logging.getLogger("stepdown")


def start_checking_hosts(setting: str, hosts: Iterable[str]) -> asyncio.Task[None]:
    """Looks up the hosts of a setting in threads of their own, which the end of the process does not wait for."""
    return asyncio.create_task(_check_hosts(setting, tuple(dict.fromkeys(filter(None, hosts)))))


async def _check_hosts(setting: str, hosts: Iterable[str]) -> None:
    lookups = HostLookups()
    await asyncio.gather(*(_check_host(lookups, setting, host) for host in hosts))


async def _check_host(lookups: HostLookups, setting: str, host: str) -> None:
    try:
        async with asyncio.timeout(PATIENCE_S):
            await lookups.find_addresses(host, 0)
    except TimeoutError:
        _warn(setting, host, f"no answer within {PATIENCE_S:g} s")
    except (OSError, ValueError) as fault:  # a ValueError of a host that is no name
        _warn(setting, host, getattr(fault, "strerror", None) or str(fault))


def _warn(setting: str, host: str, why: str) -> None:
    log.warning(
        "%s: this machine cannot resolve %s: %s; clients that cannot resolve it either do not reach this address",
        *(setting, host, why),
    )
