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

SUFFIX = "_twin"


class _Sources(MetaPathFinder):
    """Finds modules of a room's twin by their sources, where Python itself would take the compiled ones beside them."""

    def __init__(self, room: ModuleType) -> None:
        self.name = room.__name__ + SUFFIX
        self._room = Path(room.__path__[0])

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self.name and not fullname.startswith(f"{self.name}."):
            return None
        source = self._room.joinpath(*fullname.split(".")[len(self.name.split(".")) :])
        if source.is_dir():
            return spec_from_file_location(fullname, source / "__init__.py", submodule_search_locations=[str(source)])
        return spec_from_file_location(fullname, source.with_suffix(".py"))


def load_twin(name: str = "kernel", room: ModuleType = records) -> ModuleType:
    """Return the module of that name from a package like the room, of which nothing is compiled.

    Skips where Cython's Python half is missing.
    """
    pytest.importorskip("cython")
    twin_room = room.__name__ + SUFFIX
    if not any(isinstance(finder, _Sources) and finder.name == twin_room for finder in sys.meta_path):
        sys.meta_path.insert(0, _Sources(room))
    twin = importlib.import_module(f"{twin_room}.{name}")
    assert not twin.COMPILED
    return twin
