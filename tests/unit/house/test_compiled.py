"""The compiled modules: those in use are compiled, and what C knows as constants is what Python says."""

import importlib
import re
import tomllib
from pathlib import Path

import pytest
from stepdown.protocol.records import layout
from stepdown.protocol.records.kernel import faults

ROOT = Path(__file__).parents[3]
SHARED = ROOT / "include/stepdown/protocol/records"
BUILT = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["ext-modules"]


@pytest.mark.parametrize("name", [each["name"] for each in BUILT])
def test_the_module_in_use_is_the_compiled_one(name: str) -> None:
    module = importlib.import_module(name)
    assert module.COMPILED
    assert module.__file__ is not None
    assert module.__file__.endswith((".so", ".pyd"))


def test_every_source_for_cython_is_compiled() -> None:
    files = (path for room in ("protocol", "storage", "producer") for path in (ROOT / room).rglob("*.py"))
    sources = {path for path in files if "# cython:" in path.read_text()}
    assert sources == {ROOT / source for each in BUILT for source in each["sources"]}


@pytest.mark.parametrize(
    ("constants", "module"), [(SHARED / "layout.pxd", layout), (SHARED / "kernel/faults.pxd", faults)], ids=str
)
def test_constants_of_c_are_those_of_python(constants: Path, module: object) -> None:
    found = {name: int(value, 0) for name, value in re.findall(r"^    (\w+) = (\S+)$", constants.read_text(), re.M)}
    assert found
    assert found == {name: getattr(module, name) for name in found}
