"""The compiled modules uncompiled: the same sources, run by Python, as an oracle for the compiled ones."""

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest
from stepdown.protocol import records

ROOM = Path(records.__path__[0])
TWIN = f"{records.__name__}_twin"


class _Sources(MetaPathFinder):
    """Finds modules of the twin by their sources, where Python itself would take the compiled ones beside them."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != TWIN and not fullname.startswith(f"{TWIN}."):
            return None
        source = ROOM.joinpath(*fullname.split(".")[len(TWIN.split(".")) :])
        if source.is_dir():
            return spec_from_file_location(fullname, source / "__init__.py", submodule_search_locations=[str(source)])
        return spec_from_file_location(fullname, source.with_suffix(".py"))


def load_twin(name: str = "kernel") -> ModuleType:
    """Return the module of that name from a package `records` of which nothing is compiled.

    Skips where Cython's Python half is missing.
    """
    pytest.importorskip("cython")
    if not any(isinstance(finder, _Sources) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Sources())
    twin = importlib.import_module(f"{TWIN}.{name}")
    assert not twin.COMPILED
    return twin
