"""The kernel uncompiled: the same source, run by Python, as an oracle for the compiled one."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from stepdown.protocol.records import kernel


def load_twin() -> ModuleType:
    """Return kernel.py as a module of its own; skips where Cython's Python half is missing."""
    pytest.importorskip("cython")
    source = Path(kernel.__file__).with_name("kernel.py")
    spec = importlib.util.spec_from_file_location("stepdown.protocol.records.kernel_twin", source)
    assert spec is not None
    assert spec.loader is not None
    twin = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(twin)
    assert not twin.COMPILED
    return twin
