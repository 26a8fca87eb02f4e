"""Whether the system keeps what is written to a file in large pieces of memory (folios).

Linux takes them as large as one write allows, on file systems that have them; reading a file of small ones, or sending
it, takes up to twice as long (docs/decisions/log-growth.md).
"""

import os

MOUNTS = "/proc/self/mountinfo"
SINCE = {"ext4": (6, 16), "xfs": (6, 6)}
"""The first Linux with which what is written to a file system is kept in them. tmpfs has them only where it is mounted
so, ext4 not where it puts data into its journal."""


def has_large_folios(device: int, mounts: str, release: str) -> bool:
    """Whether files on the device of that number are kept so, by the text of `MOUNTS` and the release of the kernel.

    False where that cannot be told.
    """
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in mounts.splitlines():
        about, _, kind = line.partition(" - ")
        if about.split()[2:3] == [wanted]:
            since = SINCE.get(kind.partition(" ")[0])
            return since is not None and _version(release) >= since and "data=journal" not in kind
    return False


def _version(release: str) -> tuple[int, ...]:
    """The numbers that a release begins with: 6.18.44-generic is (6, 18)."""
    return tuple(int(part) for part in release.split("-")[0].split(".")[:2] if part.isdecimal())
