"""What `make audit` says: it said that nothing is known where nothing could be looked up."""

from typing import Any

from support.audit import summary

UNKNOWN = {"name": "local", "skip_reason": "Dependency not found on PyPI and could not be audited: local (1.0)"}


def known(*holes: str) -> dict[str, Any]:
    return {"name": "h11", "version": "0.14", "vulns": [{"id": hole} for hole in holes]}


def test_an_index_that_knows_no_package_shows_nothing() -> None:
    text, has_holes = summary({"dependencies": [UNKNOWN, UNKNOWN]})
    assert "none of the 2 packages" in text
    assert "test_floors.py" in text
    assert not has_holes


def test_holes_are_named_with_their_package() -> None:
    text, has_holes = summary({"dependencies": [known("CVE-2025-43859"), UNKNOWN]})
    assert text.splitlines() == [
        "Looked up: 1 package; not known to the index: 1. Known holes: 1.",
        "h11 0.14: CVE-2025-43859",
    ]
    assert has_holes


def test_packages_without_holes_are_counted() -> None:
    assert summary({"dependencies": [known(), known()]}) == (
        "Looked up: 2 packages; not known to the index: 0. Known holes: 0.",
        False,
    )
