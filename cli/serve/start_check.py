"""Checks before anything is written whether brokers can start: a start that fails leaves nothing behind."""

import logging
import shlex
from collections.abc import Sequence
from contextlib import ExitStack, closing

from ...config import BrokerSettings, Endpoint, HostPort
from ...network.admission.listener_files import find_unusable_files
from ...network.listener import address_in_bind_errors, bind
from ...network.tls.certificate_dates import list_certificates_not_in_force
from ...protocol.errors import DiskFault
from ...storage.directories.directory_check import NotALogDirectory
from ...storage.directories.log_directory import LOCK, DirectoryInUse, check_no_broker_uses
from ...storage.files.files import Files
from ..support.failures import CommandFailure

log = logging.getLogger("stepdown")
IN_USE_HINT = "End the process that has it (`fuser -v {}` names it), or take another directory with --log-dir DIR."


def check_addresses_can_be_bound(brokers: Sequence[BrokerSettings], control: HostPort | None) -> None:
    """Binds each address for a moment; `control` is one for all brokers. Raises: OSError for the first that fails."""
    wanted: list[Endpoint | HostPort] = [] if control is None else [control]
    for settings in brokers:
        wanted += [*settings.listeners, settings.stepdown_http_listen]
    with ExitStack() as stack:
        for each in wanted:
            with address_in_bind_errors(each.host, each.port):
                stack.enter_context(closing(bind(each.host, each.port)))


def check_directories(brokers: Sequence[BrokerSettings]) -> frozenset[str]:
    """Returns the log directories that do not exist yet; the broker makes them, as Kafka does.

    Raises: CommandFailure for one that a broker uses, NotALogDirectory. The broker itself handles disks that fail.
    """
    files = Files()
    paths = dict.fromkeys(path for settings in brokers for path in settings.log_dirs)
    for path in paths:
        try:
            check_no_broker_uses(files, path)
        except DirectoryInUse as fault:
            raise CommandFailure(str(fault), IN_USE_HINT.format(shlex.quote(f"{path}/{LOCK}"))) from fault
        except NotALogDirectory:
            raise
        except DiskFault:
            continue
    return frozenset(path for path in paths if not files.exists(path))


def check_listener_files(brokers: Sequence[BrokerSettings], now_ms: int) -> None:
    """Logs the certificates that have expired or are not valid yet.

    Raises: DiskFault with every file of a listener that cannot be used.
    """
    for listener, security in brokers[0].listener_security.items():
        if reasons := [why for _, why in find_unusable_files(listener, security)]:
            raise DiskFault(f"listener {listener}: {'; '.join(reasons)}")
        if security.tls is not None:
            for line in list_certificates_not_in_force(security.tls, now_ms):
                log.warning("listener %s: %s", listener, line)
