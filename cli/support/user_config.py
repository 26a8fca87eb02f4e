"""Finds the user's file with the address of the broker and the login, for commands without these options.

    ~/.config/stepdown/client.properties, or $XDG_CONFIG_HOME/stepdown/client.properties, or what STEPDOWN_CONFIG names

It is the default of --command-config and STEPDOWN_COMMAND_CONFIG.
"""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "STEPDOWN_CONFIG"


def find_command_config_default() -> dict[str, str]:
    """Returns {"command_config": path of the user's file}; {} if no file is named and there is none."""
    named = os.environ.get(VARIABLE, "")
    file = Path(named) if named else _config_home() / "stepdown" / "client.properties"
    return {"command_config": str(file)} if named or file.exists() else {}


def _config_home() -> Path:
    given = os.environ.get("XDG_CONFIG_HOME", "")
    return Path(given) if given else Path(os.path.expanduser("~/.config"))  # noqa: PTH111  # Path fails without a home
