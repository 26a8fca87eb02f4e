"""Log directories that no broker has open, opened and closed in order as a broker does.

Its locks, recovery and take-over happen, but nothing is served and nothing periodic runs, so that nothing is deleted.
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
    """The settings of a broker over these directories; `overrides` come before the file's.

    Raises: CommandFailure, also where the file names more directories: what the others have would count as gone.
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
    """A broker that is not started, over these directories; `overrides` are settings that come before the file's.

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
