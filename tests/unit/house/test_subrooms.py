"""Inside `broker/` and `storage/` imports point down, too: each sub-room may import those that stand below it here.

Modules that lie beside the sub-rooms put them together (`broker.py`, `services.py`, `core.py`) and are left out, as are
imports for type checkers; that no module needs itself, these included, is the test of cycles.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.house_words import ROOMS

ROOT = Path(__file__).parents[3]
ORDER = {
    "broker": (
        {"http"},
        {"page"},
        {"faults"},
        {"handlers"},
        {"groups", "transactions"},
        {"maintenance"},
        {"fetch", "produce"},
        {"replication"},
        {"controller"},
        {"metadata"},
        {"dispatch"},
        {"quotas"},
        {"metrics", "security"},
        {"scheduling"},
    ),
    "storage": (
        {"migration"},
        {"zookeeper"},
        {"metadata"},
        {"directories", "compaction"},
        {"recovery"},
        {"log"},
        {"producers"},
        {"validation"},
        {"index", "downconversion"},
        {"files"},
    ),
}


def for_type_checkers(tree: ast.AST) -> set[ast.AST]:
    blocks = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)]
    return {inner for block in blocks for inner in ast.walk(block)}


def imported_subrooms(path: Path, room: str) -> Iterator[tuple[int, str]]:
    package = path.relative_to(ROOT).parts[:-1]
    tree = ast.parse(path.read_text())
    ignored = for_type_checkers(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level and node not in ignored:
            target = (*package[: len(package) - node.level + 1], *(node.module or "").split("."))
            if target[0] == room and len(target) > 1 and (ROOT / room / target[1]).is_dir():
                yield node.lineno, target[1]


@pytest.mark.parametrize("room", ORDER)
def test_every_subroom_has_its_place_in_the_order(room: str) -> None:
    folders = {path.parent.name for path in (ROOT / room).glob("*/__init__.py")}
    assert folders == set().union(*ORDER[room])


@pytest.mark.parametrize("room", ORDER)
def test_imports_point_down_between_the_subrooms(room: str) -> None:
    level = {name: number for number, names in enumerate(ORDER[room]) for name in names}
    wrong = []
    for path in sorted((ROOT / room).glob("*/**/*.py")):
        own = path.relative_to(ROOT / room).parts[0]
        wrong += [
            f"{path.relative_to(ROOT)}:{line} imports {target}"
            for line, target in imported_subrooms(path, room)
            if target != own and level[target] <= level[own]
        ]
    assert not wrong


def test_no_flat_room_is_above_twenty_files() -> None:
    large = {}
    for room in ROOMS:
        for folder in {path.parent for path in (ROOT / room).rglob("*.py")} - {
            ROOT / "broker" / "handlers",
            ROOT / "protocol" / "messages",
        }:
            files = len(list(folder.glob("*.py")))
            if files > 20:
                large[str(folder.relative_to(ROOT))] = files
    assert not large
