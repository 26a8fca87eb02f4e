"""A broker in a control group with a memory limit, made by hand: version 1 or 2, where this process may make one."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import pytest

from .broker import Stepdown

MIB = 1 << 20
GROUPS = (
    (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
    (Path("/sys/fs/cgroup/unified"), "memory.max"),
    (Path("/sys/fs/cgroup"), "memory.max"),
)


@contextmanager
def memory_group(limit_bytes: int) -> Iterator[Path]:
    """A control group with this limit; skips the test where none can be made."""
    for mount, name in GROUPS:
        group = mount / f"stepdown-test-{uuid4().hex}"
        try:
            group.mkdir()
            (group / name).write_text(str(limit_bytes))
        except OSError:
            with suppress(OSError):
                group.rmdir()
            continue
        try:
            yield group
        finally:
            group.rmdir()
        return
    pytest.skip("no control group with a memory limit can be made here")


class StepdownIn(Stepdown):
    """A broker whose memory a control group counts."""

    def __init__(self, group: Path, folder: Path, properties: Mapping[str, str] | None = None) -> None:
        super().__init__(folder, properties=properties)
        self._group = group

    def _command(self) -> list[str]:
        return ["sh", "-c", f'echo $$ > {self._group}/cgroup.procs && exec "$@"', "sh", *super()._command()]
