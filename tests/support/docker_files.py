"""What the files in docker/ say, read as far as the tests need it."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

DOCKER = Path(__file__).resolve().parents[2] / "docker"
_VARIABLE = re.compile(r"^\s+((?:KAFKA|STEPDOWN)_[A-Z0-9_]+): *(.+?)\s*$")
_RATE_INTERVAL = "$__rate_interval"


def dockerfile(instruction: str) -> list[str]:
    """The arguments of an instruction each time it occurs in the last stage."""
    lines = (DOCKER / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    last = max(at for at, line in enumerate(lines) if line.startswith("FROM "))
    return [line.partition(" ")[2].strip() for line in lines[last:] if line.startswith(instruction + " ")]


def image_environment() -> dict[str, str]:
    """What ENV sets in the image, PATH left out."""
    pairs = (line.partition("=") for line in dockerfile("ENV"))
    return {name: value for name, _, value in pairs if name != "PATH"}


def exec_form(text: str) -> list[str]:
    """The words of an instruction in JSON form, e.g. of CMD."""
    words: list[str] = json.loads(text[text.index("[") :])
    return words


def compose_environment(file: str) -> dict[str, str]:
    """All settings that a compose file gives its brokers."""
    found = (_VARIABLE.match(line) for line in (DOCKER / file).read_text().splitlines())
    return {match[1]: "".join(shlex.split(match[2])) for match in found if match}


def dashboard() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((DOCKER / "grafana/dashboards/stepdown.json").read_text())
    return loaded


def dashboard_queries(rate_interval: str) -> dict[str, str]:
    """Each query of each panel by "panel title: legend", ready to be asked."""
    return {
        f"{panel['title']}: {target['legendFormat']}": target["expr"].replace(_RATE_INTERVAL, rate_interval)
        for panel in dashboard()["panels"]
        for target in panel.get("targets", ())
    }
