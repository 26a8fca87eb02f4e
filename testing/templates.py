"""Log directories that are prepared once and lent to many tests by hard links."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from .kafka import Kafka
from .running_brokers import Running

Prepare = Callable[[Kafka], object]


class Templates:
    """What was prepared in this process, by the function that did it; `close` removes it all."""

    def __init__(self) -> None:
        self._made: dict[tuple[Prepare, int], Path] = {}

    def directory(self, prepare: Prepare, brokers: int = 1) -> Path:
        """The log directory of a broker that `prepare` was called with and that has stopped."""
        if (prepare, brokers) not in self._made:
            folder = Path(tempfile.mkdtemp(prefix="stepdown-template-"))
            try:
                with Running(brokers=brokers, log_dir=folder) as kafka:
                    prepare(kafka)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            self._made[prepare, brokers] = folder
        return self._made[prepare, brokers]

    def close(self) -> None:
        for folder in self._made.values():
            shutil.rmtree(folder, ignore_errors=True)
        self._made.clear()
