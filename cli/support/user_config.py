"""Finds the user's file with the address of the broker and the login, for commands without these options.

    ~/.config/stepdown/client.properties, or $XDG_CONFIG_HOME/stepdown/client.properties, or what STEPDOWN_CONFIG names

It is the default of --command-config and STEPDOWN_COMMAND_CONFIG.
"""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "STEPDOWN_CONFIG"


def find_user_config() -> dict[str, str]:
    """Returns the file as the default of the parameter `command_config`; nothing if there is no file."""
    named = os.environ.get(VARIABLE, "")
    file = Path(named) if named else _config_home() / "stepdown" / "client.properties"
    return {"command_config": str(file)} if named or file.exists() else {}


def _config_home() -> Path:
    given = os.environ.get("XDG_CONFIG_HOME", "")
    return Path(given) if given else Path(os.path.expanduser("~/.config"))  # noqa: PTH111  # Path fails without a home
