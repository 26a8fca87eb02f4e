"""Java sources of the tests, compiled with javac when first needed and kept under `build/java/classes/`.

Folders of sources are compiled as a whole; the result is named by a hash of the sources and the class path, so an edit
compiles anew and nothing else does.
"""

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from stepdown.bench.servers.kafka import java as java_command
from stepdown.bench.servers.kafka import join_paths

from .maven import BUILD, build_lock, require_java

SOURCES = Path(__file__).resolve().parent / "java"

# Small, quick to start, and kind to the machine that runs the tests beside it: to verify classes is an eighth of what
# the start of a Kafka takes.
JVM_OPTIONS = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Xshare:auto",
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:-BytecodeVerificationRemote",
    "-Djava.awt.headless=true",
)


def java(class_path: Sequence[Path], main: str, *arguments: str, heap: str = "256m") -> list[str]:
    """Return the command line that runs `main`."""
    options = (*JVM_OPTIONS, f"-Djava.io.tmpdir={tempfile.gettempdir()}")  # the JVM does not look at TMPDIR
    return java_command(class_path, main, *arguments, heap=heap, options=options)


def compile_java(folders: Sequence[str], class_path: Sequence[Path]) -> Path:
    """Return the folder of classes of the sources in these folders of `tests/support/java`, compiled together.

    A folder that is elsewhere is named by its absolute path.

    Raises:
        AssertionError: javac refuses the sources; its messages are in the error.
    """
    require_java()
    sources = [source for folder in folders for source in sorted((SOURCES / folder).rglob("*.java"))]
    assert sources, f"no Java sources in {folders}"
    digest = hashlib.sha256(join_paths(class_path).encode())
    for source in sources:
        digest.update(source.read_bytes())
    name = "+".join(Path(folder).name if Path(folder).is_absolute() else folder for folder in folders).replace("/", "-")
    classes = BUILD / "classes" / f"{name}-{digest.hexdigest()[:16]}"
    with build_lock(f"javac-{name}"):
        if not classes.exists():
            _compile(sources, class_path, classes)
    return classes


def _compile(sources: Sequence[Path], class_path: Sequence[Path], classes: Path) -> None:
    classes.parent.mkdir(parents=True, exist_ok=True)
    output = Path(tempfile.mkdtemp(dir=classes.parent))
    command = [
        "javac",
        "-nowarn",
        "-proc:none",
        "-g",
        "-cp",
        join_paths(class_path),
        "-d",
        str(output),
        *map(str, sources),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        shutil.rmtree(output)
        raise AssertionError(f"javac failed:\n{done.stderr}")
    output.rename(classes)
