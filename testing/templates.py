"""Log directories that are prepared once and lent to many tests by hard links."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from .kafka import Kafka
from .running_brokers import Running

Prepare = Callable[[Kafka], object]


class Templates:
    """Log directories by the function that prepared them; `close` removes them."""

    def __init__(self) -> None:
        self._made: dict[tuple[Prepare, int], Path] = {}

    def directory(self, prepare: Prepare, brokers: int = 1) -> Path:
        """Returns the log directory of stopped brokers; at first, starts them and calls `prepare` to fill it."""
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
