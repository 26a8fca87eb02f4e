"""The file that says where the broker is and how to log in, for commands that are not told.

    ~/.config/stepdown/client.properties, or $XDG_CONFIG_HOME/stepdown/client.properties, or what STEPDOWN_CONFIG names

It is a client.properties: `bootstrap.servers` stands for --bootstrap-server, and the file itself for --command-config.
Options and the variables STEPDOWN_BOOTSTRAP and STEPDOWN_COMMAND_CONFIG come first.
"""

from __future__ import annotations

import os
from pathlib import Path

from .failures import EXIT_BAD_USAGE, CommandFailure

VARIABLE = "STEPDOWN_CONFIG"
BOOTSTRAP_KEY = "bootstrap.servers"


def read_user_config() -> dict[str, str]:
    """Defaults by the names of parameters; none without a file. Raises: CommandFailure."""
    named = os.environ.get(VARIABLE, "")
    file = Path(named) if named else _config_home() / "stepdown" / "client.properties"
    try:
        data = file.read_bytes()
    except FileNotFoundError as fault:
        if not named:
            return {}
        raise CommandFailure(f"{VARIABLE}: {file}: {fault.strerror}", "", EXIT_BAD_USAGE) from fault
    except OSError as fault:
        raise CommandFailure(f"{file}: {fault.strerror or fault}", "", EXIT_BAD_USAGE) from fault
    return {"command_config": str(file), **_read_bootstrap(file, data)}


def _config_home() -> Path:
    given = os.environ.get("XDG_CONFIG_HOME", "")
    return Path(given) if given else Path(os.path.expanduser("~/.config"))  # noqa: PTH111  # Path fails without a home


def _read_bootstrap(file: Path, data: bytes) -> dict[str, str]:
    from ...config.sources.properties_file import MalformedProperties, decode, parse_properties

    try:
        found = {each.key: each.value.strip() for each in parse_properties(decode(data))}
    except MalformedProperties as fault:
        raise CommandFailure(f"{file}: {fault}", "", EXIT_BAD_USAGE) from fault
    return {"bootstrap": found[BOOTSTRAP_KEY]} if found.get(BOOTSTRAP_KEY) else {}
