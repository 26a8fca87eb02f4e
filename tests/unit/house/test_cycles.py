"""No module needs, by way of others, itself: imports for type checkers count, too."""

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from support.house_words import ROOMS

ROOT = Path(__file__).parents[3]
SCRIPTS = ROOT / "bench" / "questions"


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def product() -> dict[str, Path]:
    paths = [path for room in ROOMS for path in (ROOT / room).rglob("*.py") if SCRIPTS not in path.parents]
    return {name_of(path): path for path in paths}


@cache
def imports_of(path: Path) -> tuple[ast.ImportFrom, ...]:
    """The relative imports of a file, parsed once for all tests."""
    nodes = ast.walk(ast.parse(path.read_text()))
    return tuple(node for node in nodes if isinstance(node, ast.ImportFrom) and node.level)


def imported(name: str, path: Path, modules: dict[str, Path]) -> set[str]:
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    found = set()
    for node in imports_of(path):
        base = package[: len(package) - node.level + 1] + (node.module.split(".") if node.module else [])
        for alias in node.names:
            whole = ".".join([*base, alias.name])
            found.add(whole if whole in modules else ".".join(base))
    return {each for each in found if each in modules and each != name}


def test_there_is_no_cycle_of_imports() -> None:
    modules = product()
    graph = {name: imported(name, path, modules) for name, path in modules.items()}
    assert len(graph) > 500
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as found:
        raise AssertionError(" -> ".join(found.args[1])) from None


def test_only_what_composes_a_broker_knows_the_whole() -> None:
    """Rooms are handed `Core` and the rooms that they need, handlers are handed `Services`."""
    modules = product()
    knowing = {name for name, path in modules.items() if "broker.broker" in imported(name, path, modules)}
    assert {name for name in knowing if name.startswith("broker.") and name.count(".") > 1} == set()
