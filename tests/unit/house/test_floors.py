"""What a broker installs is no release with a known hole: the least versions in pyproject.toml are as new as the fixes.

A hole that is published is entered here, with the release that mends it.
"""

import re
import tomllib
from pathlib import Path

import pytest

PROJECT = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
MENDED = {
    "cryptography": ("44.0.1", "CVE-2024-12797: OpenSSL in its wheels takes servers that did not prove their key"),
    "h11": ("0.16", "CVE-2025-43859: request smuggling by malformed chunks"),
    "pyjwt": ("2.12", "advisories on the checks of keys and issuers"),
    "pyyaml": ("5.4", "CVE-2020-14343: code in documents"),
}
"""By package: the first release without the hole, and what it is."""
_REQUIREMENT = re.compile(r"([A-Za-z0-9_.-]+)(?:\[[^\]]*\])?>=([0-9.]+)")


def floors() -> dict[str, list[tuple[int, ...]]]:
    """The least versions by package, wherever one is named."""
    named = [*PROJECT["dependencies"], *(each for extra in PROJECT["optional-dependencies"].values() for each in extra)]
    found: dict[str, list[tuple[int, ...]]] = {}
    for text in named:
        match = _REQUIREMENT.match(text)
        if match is not None:
            found.setdefault(match[1].lower(), []).append(number(match[2]))
    return found


def number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


@pytest.mark.parametrize("package", MENDED)
def test_the_least_version_has_no_known_hole(package: str) -> None:
    mended, hole = MENDED[package]
    assert package in floors(), "no longer a dependency: take it from this list"
    assert min(floors()[package]) >= number(mended), hole


def test_every_dependency_of_a_broker_has_a_least_version() -> None:
    security = PROJECT["optional-dependencies"]["security"]
    assert all(_REQUIREMENT.match(each) for each in (*PROJECT["dependencies"], *security))
