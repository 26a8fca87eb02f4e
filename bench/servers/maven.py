"""Jars by Maven coordinates: the class path of a version of Apache Kafka, resolved once and then read from a folder.

The `mvn` of the machine resolves into the local Maven repository; what it found is kept as
`<folder>/class-paths/<hash>.txt`, so later runs need neither the network nor Maven's start-up time.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from xml.sax.saxutils import escape

from ..failures import BenchFailure

SILENT_LOG = "org.slf4j:slf4j-nop:1.7.36"
STDERR_LOG = "org.slf4j:slf4j-simple:1.7.36"

_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath"
_COORDINATES = re.compile(r"[\w.-]+:[\w.-]+:[\w.-]+(:[\w.-]+)?")
_MAVEN_TIMEOUT_S = 600


class JarsMissing(BenchFailure):
    """Java or Maven is not installed, or Maven does not find a jar."""


class MavenStore:
    """Class paths, remembered in `folder`; processes side by side do not resolve the same thing twice."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """Holds `<folder>/<name>.lock` against other processes."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / f"{name}.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def class_path(self, *coordinates: str) -> tuple[Path, ...]:
        """The jars of `group:artifact:version[:classifier]` coordinates and all they need, in class path order.

        Versions that conflict are settled as Maven does: nearest, then first. Raises: JarsMissing.
        """
        kept = self.folder / "class-paths" / f"{hashlib.sha256(' '.join(coordinates).encode()).hexdigest()[:16]}.txt"
        with self.lock("maven"):
            if kept.exists():
                jars = _read_class_path(kept)
                if all(jar.exists() for jar in jars):
                    return jars
            kept.parent.mkdir(parents=True, exist_ok=True)
            _write_class_path_by_maven(coordinates, kept)
        return _read_class_path(kept)


def user_store() -> MavenStore:
    """The store of this user, in the cache folder where the machine keeps such things."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return MavenStore(Path(cache) / "stepdown")


def _read_class_path(file: Path) -> tuple[Path, ...]:
    return tuple(Path(entry) for entry in file.read_text().strip().split(os.pathsep))


def _write_class_path_by_maven(coordinates: Sequence[str], target: Path) -> None:
    missing = [tool for tool in ("java", "mvn") if shutil.which(tool) is None]
    if missing:
        raise JarsMissing(f"not installed: {', '.join(missing)}; Apache Kafka runs on Java, its jars come by Maven")
    pom = target.with_suffix(".pom.xml")
    pom.write_text(_make_pom(coordinates))
    output = target.with_suffix(".new")
    command = ["mvn", "-q", "-B", "-f", str(pom), _PLUGIN, f"-Dmdep.outputFile={output}", "-Dmdep.includeScope=test"]
    offline = _run([*command, "-o"])
    done = offline if offline.returncode == 0 else _run(command)
    if done.returncode != 0:
        raise JarsMissing(f"Maven cannot resolve {' '.join(coordinates)}: {done.stdout.strip()[-600:]}")
    output.rename(target)


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=_MAVEN_TIMEOUT_S, check=False)


def _make_pom(coordinates: Sequence[str]) -> str:
    return f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>stepdown</groupId><artifactId>class-path</artifactId><version>1</version><packaging>pom</packaging>
<dependencies>
{"".join(_dependency_element(c) for c in coordinates)}</dependencies></project>
"""


def _dependency_element(coordinates: str) -> str:
    if not _COORDINATES.fullmatch(coordinates):
        raise ValueError(f"Maven coordinates are group:artifact:version[:classifier], found {coordinates!r}")
    group, artifact, version, *classifier = (escape(part) for part in coordinates.split(":"))
    more = f"<classifier>{classifier[0]}</classifier>" if classifier else ""
    return (
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{version}</version>{more}</dependency>\n"
    )
