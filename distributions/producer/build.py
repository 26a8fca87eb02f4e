"""Builds the distribution `stepdown-producer`: the producer, and what it imports of protocol and config.

    python distributions/producer/build.py [WHEEL_DIRECTORY]      a wheel, by default into dist/

The source tree in build/stepdown-producer is made anew each time: the modules that imports lead to from the producer's
package, the declarations for Cython, `setup.py` as the whole has it, and the pyproject.toml and README.md from here.
"""

import ast
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TREE = ROOT / "build" / "stepdown-producer"
BEGIN = ROOT / "producer" / "__init__.py"
BESIDE = ("__init__.py", "py.typed", "setup.py", "LICENSE")


def module_file(parts: tuple[str, ...]) -> Path | None:
    """The file of a module of the package, given by its names below `stepdown`."""
    for path in (ROOT.joinpath(*parts, "__init__.py"), ROOT.joinpath(*parts).with_suffix(".py")):
        if parts and path.is_file():
            return path
    return None


def imported(path: Path) -> Iterator[Path]:
    """The files that a module imports, wherever it does so: lazily, or only without Cython."""
    package = path.relative_to(ROOT).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = (*package[: len(package) - node.level + 1], *(node.module or "").split("."))
            base = tuple(part for part in base if part)
            for parts in (base, *((*base, alias.name) for alias in node.names)):
                if (found := module_file(parts)) is not None:
                    yield found


def needed() -> set[Path]:
    """The producer's files, and those that they import."""
    found: set[Path] = set()
    left = [BEGIN, *(ROOT / "producer").rglob("*.py")]
    while left:
        path = left.pop()
        if path not in found:
            found.add(path)
            left += imported(path)
    return found


def packages_around(files: set[Path]) -> set[Path]:
    """The packages that hold these files and that none of them imports from: of those the docstring is enough."""
    parents = {parent / "__init__.py" for path in files for parent in path.parents if ROOT in parent.parents}
    return parents - files


def make_tree() -> None:
    """Makes the source tree of the distribution."""
    shutil.rmtree(TREE, ignore_errors=True)
    modules = needed()
    stubs = {path.with_suffix(".pyi") for path in modules}
    headers = set((ROOT / "protocol" / "records" / "kernel").glob("*.h"))
    files = modules | {path for path in stubs if path.is_file()} | headers | {ROOT / name for name in BESIDE}
    for path in [*files, *(ROOT / "include").rglob("*.px[di]")]:
        _place(path, path.read_text())
    for path in packages_around(modules):
        _place(path, f'"""{ast.get_docstring(ast.parse(path.read_text()))}"""\n')
    for name in ("pyproject.toml", "README.md"):
        shutil.copyfile(HERE / name, TREE / name)


def _place(path: Path, text: str) -> None:
    target = TREE / path.relative_to(ROOT)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


def main() -> None:
    make_tree()
    into = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist").resolve()
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(into), str(TREE)]
    subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
