"""What README shows in fences."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def commands(start: str) -> list[str]:
    """Return the commands, without comments, of the one block of sh that has `start`; what it installs is left out."""
    (block,) = (block for block in blocks("sh") if start in block)
    lines = [re.sub(r"\s+# .*", "", line) for line in block.splitlines()]
    return [line for line in lines if not line.startswith("pip install ")]
