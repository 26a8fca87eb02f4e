"""Opens and closes log directories that no broker has open, in the same way as a broker.

Locks, recovery and take-over happen; no client is served and no periodic task runs, so that nothing is deleted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ...broker.broker import Broker
from ...config import ConfigError, StartupSettings, load
from ...protocol.errors import DiskFault
from ...storage.directories.log_directory import DirectoryInUse
from .failures import EXIT_BAD_USAGE, CommandFailure


def load_settings_for(
    log_dirs: Sequence[str], properties: Path | None, overrides: Mapping[str, object] | None = None
) -> StartupSettings:
    """Returns the settings of a broker with these directories; `overrides` override those of the file.

    Raises: CommandFailure, also if the file names more directories: partitions in those would count as lost.
    """
    given = {"log.dirs": ",".join(log_dirs), **(overrides or {})}
    try:
        file = None if properties is None else str(properties)
        of_file = () if file is None else load(file).settings.log_dirs
        if len(of_file) > len(log_dirs):
            raise CommandFailure(
                f"{file} has log.dirs={','.join(of_file)}, and {len(log_dirs)} directories are given",
                "Name all of them: partitions whose folders are in the others would be made, empty.",
                EXIT_BAD_USAGE,
            )
        return load(file, overrides=[f"{key}={value}" for key, value in given.items()])
    except ConfigError as fault:
        raise CommandFailure(str(fault), "", EXIT_BAD_USAGE) from fault


@contextmanager
def open_at_rest(
    log_dirs: Sequence[str], properties: Path | None, locked_hint: str, overrides: Mapping[str, object] | None = None
) -> Iterator[Broker]:
    """Yields a broker with these directories open, not started; `overrides` override settings of the file.

    Raises: CommandFailure when they cannot be opened.
    """
    loaded = load_settings_for(log_dirs, properties, overrides)
    try:
        broker = Broker(loaded.settings, loaded.layers)
        with broker.abandon_on_failure():
            broker.topics.load()
    except DirectoryInUse as fault:
        raise CommandFailure(str(fault), locked_hint) from fault
    except DiskFault as fault:
        raise CommandFailure(str(fault)) from fault
    try:
        yield broker
    finally:
        broker.workers.shutdown()
        broker.log_manager.shutdown()
