"""The walls of the house: which room may import which, and that the wheel holds all of them."""

import ast
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BELOW = {
    "cli": {
        "bench",
        "testing",
        "broker",
        "gateway",
        "network",
        "client",
        "producer",
        "pipeline",
        "storage",
        "protocol",
        "config",
    },
    "testing": {"broker", "network", "client", "producer", "protocol", "config"},
    "broker": {"network", "storage", "protocol", "config"},
    "gateway": {"network", "client", "storage", "protocol", "config"},
    "producer": {"client", "protocol", "config"},
    "pipeline": {"storage", "protocol", "config"},
    "bench": {"client", "protocol", "config"},
    "client": {"protocol", "config"},
    "network": {"protocol", "config"},
    "storage": {"protocol", "config"},
    "protocol": set(),
    "config": set(),
}
# Spark looks for packages of such names, so they have to lie beside `stepdown`; they hold one import and nothing else.
FOR_SPARK = {
    "pyspark_stepdown": "from stepdown.pipeline.sources.kafka_segments import KafkaSegments",
    "pyspark_stepdown_batches": "from stepdown.pipeline.sources.kafka_batches import KafkaBatches",
}
# Scripts for those who change the product; they are run by path and are not installed.
SCRIPTS = ROOT / "bench" / "questions"
PRODUCT = [path for room in BELOW for path in sorted((ROOT / room).rglob("*.py")) if path.parent != SCRIPTS]


def _absolute_packages(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name.split(".")[0] for alias in node.names}
    return {(node.module or "").split(".")[0]} if isinstance(node, ast.ImportFrom) and not node.level else set()


def imported_rooms(path: Path) -> Iterator[tuple[int, str]]:
    """(line, room) of everything in the package that a file imports."""
    package = path.relative_to(ROOT).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            target = (*package[: len(package) - node.level + 1], *(node.module or "").split("."))
            yield node.lineno, target[0]
        elif "stepdown" in _absolute_packages(node):
            yield node.lineno, "an absolute import"


@pytest.mark.parametrize("path", PRODUCT, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_are_relative_and_point_down(path: Path) -> None:
    room = path.relative_to(ROOT).parts[0]
    wrong = [(line, target) for line, target in imported_rooms(path) if target not in {room, ""} | BELOW[room]]
    assert not wrong


def test_the_wheel_holds_every_folder_of_the_product() -> None:
    listed = set(runpy.run_path(str(ROOT / "setup.py"))["packages"]())
    folders = {path.parent for path in PRODUCT}
    assert listed == {"stepdown", *FOR_SPARK} | {
        "stepdown." + ".".join(folder.relative_to(ROOT).parts) for folder in folders
    }


def test_every_folder_of_the_product_says_what_it_holds() -> None:
    for folder in {path.parent for path in PRODUCT}:
        assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text())), folder


def test_the_root_holds_no_loose_module() -> None:
    assert {path.name for path in ROOT.glob("*.py")} == {"__init__.py", "__main__.py", "setup.py"}


@pytest.mark.parametrize("name", FOR_SPARK)
def test_a_package_that_spark_looks_for_holds_a_name_only(name: str) -> None:
    (path,) = (ROOT / name).glob("*.py")
    imported = [ast.unparse(node) for node in ast.parse(path.read_text()).body if isinstance(node, ast.ImportFrom)]
    assert imported == [FOR_SPARK[name]]


@pytest.mark.parametrize("path", PRODUCT, ids=lambda path: str(path.relative_to(ROOT)))
def test_nobody_but_the_clocks_knows_the_time(path: Path) -> None:
    if path.name == "clock.py" or path.relative_to(ROOT).parts[0] == "cli":
        return
    text = path.read_text()
    assert "time.time(" not in text
    assert not [line for line in text.splitlines() if "asyncio.sleep(" in line and "asyncio.sleep(0)" not in line]
