"""Where the gateway's settings are given: a file, the environment and the command line; which of them have changed."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ..client.security.settings import KEYS as SECURITY_KEYS
from ..config import BROKER_KEYS, Given, Origin
from ..config.listener_security import key_of_listener
from ..config.sources.yaml_file import read_yaml
from .setting_keys import LOGINS, UPSTREAM, VARIABLES

AT_ONCE = ("allow", "drain.timeout.ms", LOGINS, f"{UPSTREAM}sasl.")
"""The settings that take effect when the settings are read again."""


def read_sources(file: Path | None, environ: Mapping[str, str], flags: Iterable[Given]) -> Sequence[Given]:
    """The given settings, in the order of the sources: a later one wins. Raises: ConfigError for an unreadable file."""
    return (*(read_yaml(file, _is_secret) if file is not None else ()), *_read_environment(environ), *flags)


def list_settings_for_restart(started: Iterable[Given], given: Iterable[Given]) -> list[str]:
    """The names of settings that differ from those of the start, and count at the next one."""
    return [key for key in _list_changes(started, given) if not key.startswith(AT_ONCE)]


def list_settings_in_force(started: Iterable[Given], given: Iterable[Given]) -> list[str]:
    """The names of settings that differ from those of the start, and count at once."""
    return [key for key in _list_changes(started, given) if key.startswith(AT_ONCE)]


def _list_changes(started: Iterable[Given], given: Iterable[Given]) -> list[str]:
    before, now = ({each.key: each.text for each in texts} for texts in (started, given))
    return sorted(key for key in before.keys() | now.keys() if before.get(key) != now.get(key))


def _is_secret(name: str) -> bool:
    if name.startswith(UPSTREAM):
        key = SECURITY_KEYS.get(name.removeprefix(UPSTREAM))
    elif name.startswith(LOGINS):
        key = SECURITY_KEYS.get(name.removeprefix(LOGINS).partition(".")[2])
    else:
        key = BROKER_KEYS.get(name) or key_of_listener(name)
    return key is not None and key.sensitive


def _read_environment(environ: Mapping[str, str]) -> Iterable[Given]:
    for variable in sorted(environ):
        if variable.startswith(VARIABLES):
            name = variable.removeprefix(VARIABLES).lower().replace("_", ".").replace("...", "-").replace("..", "_")
            yield Given(name, environ[variable], Origin(f"environment variable {variable}"))
