"""File systems of a few megabytes, in memory, for brokers that are to fill them. Mounting asks for root."""

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from .maven import skip_or_fail


@contextmanager
def mount_small(sizes_mb: Mapping[Path, int]) -> Iterator[None]:
    """Mounts one of that size at each folder, which is made; they go at the end."""
    with ExitStack() as mounted:
        for folder, size_mb in sizes_mb.items():
            folder.mkdir(parents=True)
            command = ["mount", "-t", "tmpfs", "-o", f"size={size_mb}m", "none", str(folder)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                skip_or_fail(f"no file system can be mounted here: {done.stderr.strip()}")
            mounted.callback(subprocess.run, ["umount", "--lazy", str(folder)], check=True)
        yield
