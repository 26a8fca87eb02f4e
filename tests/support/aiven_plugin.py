"""Aiven's RemoteStorageManager for Kafka (KIP-405), compiled from its sources: no Maven repository has its jars.

AIVEN_SOURCE names a clone of github.com/Aiven-Open/tiered-storage-for-apache-kafka at v1.0.0.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from stepdown.bench.servers.kafka import KAFKA_3_9, join_paths

from .maven import BUILD, build_lock, class_path

MANAGER = "io.aiven.kafka.tieredstorage.RemoteStorageManager"
CHUNK_BYTES = 100_000
_MODULES = ("commons", "core", "storage/core", "storage/filesystem")
_NEEDED = (
    "org.bouncycastle:bcprov-jdk18on:1.80",
    "com.fasterxml.jackson.core:jackson-databind:2.19.0",
    "com.fasterxml.jackson.datatype:jackson-datatype-jdk8:2.19.0",
    "com.github.luben:zstd-jni:1.5.6-9",
    "com.github.ben-manes.caffeine:caffeine:3.2.0",
    "commons-io:commons-io:2.19.0",
    "com.bucket4j:bucket4j_jdk11-core:8.14.0",
)


def aiven_settings(root: Path) -> dict[str, str]:
    """Settings of a broker whose segments go below `root`, in chunks, with zstd. Skips without the plugin's sources."""
    source = os.environ.get("AIVEN_SOURCE")
    if not source:
        pytest.skip("AIVEN_SOURCE does not name a clone of Aiven's plugin")
    root.mkdir(parents=True, exist_ok=True)
    backend = "io.aiven.kafka.tieredstorage.storage.filesystem.FileSystemStorage"
    return {
        "remote.log.storage.manager.class.name": MANAGER,
        "remote.log.storage.manager.class.path": join_paths((_compiled(Path(source)), *class_path(*_NEEDED))),
        "rsm.config.chunk.size": str(CHUNK_BYTES),
        "rsm.config.compression.enabled": "true",
        "rsm.config.storage.backend.class": backend,
        "rsm.config.storage.root": str(root),
    }


def _compiled(source: Path) -> Path:
    """The folder of the plugin's classes."""
    classes = BUILD / "classes" / "aiven-plugin"
    with build_lock("javac-aiven-plugin"):
        if not classes.exists():
            files = [file for module in _MODULES for file in (source / module / "src/main/java").rglob("*.java")]
            assert files, f"{source} has no sources of the plugin"
            classes.parent.mkdir(parents=True, exist_ok=True)
            output = Path(tempfile.mkdtemp(dir=classes.parent))
            path = join_paths((*class_path(*_NEEDED), *class_path(KAFKA_3_9)))
            command = ["javac", "-nowarn", "-proc:none", "-cp", path, "-d", str(output), *map(str, files)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                shutil.rmtree(output)
                raise AssertionError(f"javac failed:\n{done.stderr}")
            output.rename(classes)
    return classes
