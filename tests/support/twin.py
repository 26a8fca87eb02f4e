"""A compiled module uncompiled: the same source, run by Python, as an oracle for the compiled one."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from stepdown.protocol.records import kernel


def load_twin(of: ModuleType = kernel) -> ModuleType:
    """Return the source of `of` as a module of its own; skips where Cython's Python half is missing."""
    pytest.importorskip("cython")
    assert of.__file__ is not None
    name = of.__name__.rpartition(".")[2]
    spec = importlib.util.spec_from_file_location(f"{of.__name__}_twin", Path(of.__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    twin = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(twin)
    assert not twin.COMPILED
    return twin
