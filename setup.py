"""Finds what pyproject.toml would have to list: the packages, and the modules that Cython compiles.

A package is a folder with an `__init__.py`. A module is compiled if its first line gives Cython directives.
What Cython adds to each, memory views above all, is in one module that the others import: it was half of all that a C
compiler had to do.
"""

import os
import sys
import sysconfig
from pathlib import Path

from setuptools import Distribution, Extension, setup

ROOT = Path(__file__).parent
FOR_SPARK = ("pyspark_stepdown", "pyspark_stepdown_batches")
CYTHON_SHARED = "protocol/records/cython_shared.c"
ROOMS = (
    "protocol",
    "config",
    "storage",
    "network",
    "broker",
    "client",
    "gateway",
    "producer",
    "testing",
    "cli",
    "bench",
    "pipeline",
)


def packages() -> list[str]:
    found = [init.parent.relative_to(ROOT) for room in ROOMS for init in (ROOT / room).rglob("__init__.py")]
    beside = [name for name in FOR_SPARK if (ROOT / name).is_dir()]
    return [*beside, "stepdown", *sorted(".".join(("stepdown", *path.parts)) for path in found)]


def compiled() -> list[str]:
    """The paths of the modules to compile, from the root."""
    found = []
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            with path.open(encoding="utf-8") as source:
                if source.readline().startswith("# cython:"):
                    found.append(path.relative_to(ROOT).as_posix())
    return sorted(found)


def extension(source: str) -> Extension:
    return Extension(
        "stepdown." + source.rpartition(".")[0].replace("/", "."),
        [source],
        include_dirs=["include", "protocol/records/kernel"],
        extra_compile_args=["-O3", "-g0", "-fwrapv"],
    )


def extensions() -> list[Extension]:
    """The compiled modules, as C; Cython writes the file of a module again when that has changed."""
    from Cython.Build import cythonize

    shared = extension(CYTHON_SHARED)
    return cythonize(
        [shared, *map(extension, compiled())],
        include_path=["include"],
        shared_utility_qualified_name=shared.name,
        nthreads=os.cpu_count(),
        quiet=True,
    )


class WithData(Distribution):
    """Installs data files of an editable install as well, which setuptools does only where there is a `has_data`."""

    def has_data(self) -> bool:
        return bool(self.data_files)


def path_for_spark() -> list[tuple[str, list[str]]]:
    """What an editable install has besides: a `.pth` by which Spark, which lists folders, sees our packages."""
    if "editable_wheel" not in sys.argv:
        return []
    folder = ROOT / "build" / "spark"
    folder.mkdir(parents=True, exist_ok=True)
    for name in FOR_SPARK:
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(ROOT / name)
    (ROOT / "build" / "pyspark_stepdown.pth").write_text(f"{folder}\n")
    site_packages = os.path.relpath(sysconfig.get_path("purelib"), sys.prefix)
    return [(site_packages, ["build/pyspark_stepdown.pth"])]


if __name__ == "__main__":
    parallel = {"build_ext": {"parallel": os.cpu_count()}}
    setup(
        packages=packages(),
        ext_modules=extensions(),
        options=parallel,
        data_files=path_for_spark(),
        distclass=WithData,
    )
