"""The file that says where the broker is and how to log in, for commands that are not told.

    ~/.config/stepdown/client.properties, or $XDG_CONFIG_HOME/stepdown/client.properties, or what STEPDOWN_CONFIG names

It stands for --command-config, and is not read where that or STEPDOWN_COMMAND_CONFIG names another file.
"""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "STEPDOWN_CONFIG"


def find_user_config() -> dict[str, str]:
    """Defaults by the names of parameters; none without a file."""
    named = os.environ.get(VARIABLE, "")
    file = Path(named) if named else _config_home() / "stepdown" / "client.properties"
    return {"command_config": str(file)} if named or file.exists() else {}


def _config_home() -> Path:
    given = os.environ.get("XDG_CONFIG_HOME", "")
    return Path(given) if given else Path(os.path.expanduser("~/.config"))  # noqa: PTH111  # Path fails without a home
