"""Classes of Kafka as the JVM has them after a start, kept in a file: the next start takes half of the processor time.

The file (JDK: class data sharing) is made once for each class path, by a broker that is started and stopped. A JVM of
another version, or with other jars, passes over it; so does one that can make no such file, which is then empty.
"""

import hashlib
import tempfile
from collections.abc import Sequence
from pathlib import Path

from stepdown.bench.servers.kafka import KafkaServer, join_paths

from .java_build import JVM_OPTIONS
from .maven import BUILD, JARS, build_lock


def shared_classes(jars: Sequence[Path]) -> str:
    """The option of the JVM that uses the file of this class path, which is made where there is none."""
    kept = BUILD / "shared-classes" / f"{hashlib.sha256(join_paths(jars).encode()).hexdigest()[:16]}.jsa"
    with build_lock("shared-classes"):
        if not kept.exists():
            _record(tuple(jars), kept)
    return f"-XX:SharedArchiveFile={kept}"


def _record(jars: tuple[Path, ...], kept: Path) -> None:
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder, "classes")
        kafka = _Recorder(Path(folder, "kafka"), jars, archive)
        kafka.start()
        kafka.stop()
        new = kept.with_suffix(".new")
        new.write_bytes(archive.read_bytes() if archive.exists() else b"")
        new.rename(kept)


class _Recorder(KafkaServer):
    """Writes the file when it stops."""

    def __init__(self, folder: Path, jars: tuple[Path, ...], archive: Path) -> None:
        super().__init__(folder, JARS, jvm_options=(*JVM_OPTIONS, f"-XX:ArchiveClassesAtExit={archive}"))
        self._class_path = jars

    def _jars(self) -> tuple[Path, ...]:
        return self._class_path
