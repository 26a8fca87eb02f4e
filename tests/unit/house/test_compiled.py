"""The compiled modules: those in use are compiled, and what C knows as constants is what Python says."""

import importlib
import re
import runpy
from pathlib import Path

import pytest
from stepdown.protocol.records import layout
from stepdown.protocol.records.kernel import run_status

ROOT = Path(__file__).parents[3]
SHARED = ROOT / "include/stepdown/protocol/records"
SETUP = runpy.run_path(str(ROOT / "setup.py"))
BUILT = [SETUP["extension"](path).name for path in SETUP["compiled"]()]


@pytest.mark.parametrize("name", BUILT)
def test_the_module_in_use_is_the_compiled_one(name: str) -> None:
    module = importlib.import_module(name)
    assert module.COMPILED
    assert module.__file__ is not None
    assert module.__file__.endswith((".so", ".pyd"))


def test_what_the_shared_declarations_belong_to_is_compiled() -> None:
    declared = {path.relative_to(ROOT / "include").with_suffix("") for path in (ROOT / "include").rglob("*.pxd")}
    classes = {
        ".".join(path.parts)
        for path in declared
        if "cdef class" in (ROOT / "include" / path).with_suffix(".pxd").read_text()
    }
    assert classes
    assert classes <= set(BUILT)


@pytest.mark.parametrize(
    ("constants", "module"), [(SHARED / "layout.pxd", layout), (SHARED / "kernel/run_status.pxd", run_status)], ids=str
)
def test_constants_of_c_are_those_of_python(constants: Path, module: object) -> None:
    found = {name: int(value, 0) for name, value in re.findall(r"^    (\w+) = (\S+)$", constants.read_text(), re.M)}
    assert found
    assert found == {name: getattr(module, name) for name in found}
