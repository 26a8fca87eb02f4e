"""How long does a newcomer wait? A fresh clone of what is committed here, a fresh environment, an empty pip cache.

    python bench/questions/install_time.py serve install wheel

`serve` is `make serve` until a broker listens, `install` is `pip install .`, `wheel` installs the newest wheel of
`make wheel` in dist/, with the packages it needs. Each figure stands beside its bar; the status is 1 if one is missed.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Mapping
from pathlib import Path
from time import monotonic

ROOT = Path(__file__).resolve().parents[2]
LONGEST_S = {"serve": 75, "install": 60, "wheel": 15}
LARGEST_MB = 250
ADDRESS = "127.0.0.1:0"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ways", nargs="*", choices=tuple(WAYS), default=list(WAYS))
    missed = 0
    for way in parser.parse_args(arguments).ways:
        with tempfile.TemporaryDirectory(prefix="set-up-") as name:
            folder = Path(name)
            seconds, environment = WAYS[way](folder, fresh(folder))
            megabytes = size_bytes(environment) / 1e6
        bars = f"{seconds:.1f} s (at most {LONGEST_S[way]}), environment {megabytes:.0f} MB (at most {LARGEST_MB})"
        print(f"{way}: {bars}", flush=True)
        missed += seconds > LONGEST_S[way] or megabytes > LARGEST_MB
    return int(missed > 0)


def fresh(folder: Path) -> Mapping[str, str]:
    """The variables of somebody who has just come: no cache of packages or of compiled files."""
    dropped = ("CC", "CXX", "VIRTUAL_ENV", "PYTHONPATH")
    kept = {name: value for name, value in os.environ.items() if name not in dropped and not name.startswith("CCACHE")}
    return {**kept, "PIP_CACHE_DIR": str(folder / "pip-cache")}


def serve(folder: Path, variables: Mapping[str, str]) -> tuple[float, Path]:
    tree = cloned(folder)
    command = ["make", "serve", f"PYTHON={base_python()}", f"LISTEN={ADDRESS}"]
    began = monotonic()
    with subprocess.Popen(
        command, cwd=tree, env=variables, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as made:
        assert made.stdout is not None
        for line in made.stdout:
            print(f"  {line.rstrip()}")
            if "listening on" in line:
                break
        seconds = monotonic() - began
        os.killpg(made.pid, signal.SIGTERM)
    return seconds, tree / ".venv"


def install(folder: Path, variables: Mapping[str, str]) -> tuple[float, Path]:
    return pip_install(folder, cloned(folder), variables)


def wheel(folder: Path, variables: Mapping[str, str]) -> tuple[float, Path]:
    newest = max((ROOT / "dist").glob("stepdown-*.whl"), key=lambda path: path.stat().st_mtime, default=None)
    if newest is None:
        sys.exit("there is no wheel in dist/: make wheel")
    return pip_install(folder, newest, variables)


WAYS: Mapping[str, Callable[[Path, Mapping[str, str]], tuple[float, Path]]] = {
    "serve": serve,
    "install": install,
    "wheel": wheel,
}


def pip_install(folder: Path, what: Path, variables: Mapping[str, str]) -> tuple[float, Path]:
    """The environment itself is made before the time begins."""
    environment = folder / "environment"
    venv.create(environment, with_pip=True)
    began = monotonic()
    command = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", str(what)]
    subprocess.run(command, check=True, cwd=folder, env=variables)
    return monotonic() - began, environment


def cloned(folder: Path) -> Path:
    tree = folder / "stepdown"
    subprocess.run(["git", "clone", "--quiet", ROOT, tree], check=True)
    return tree


def base_python() -> Path:
    """The Python that this environment was made of."""
    return Path(sys.base_prefix) / "bin" / "python3"


def size_bytes(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
