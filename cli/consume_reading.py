"""The loop of `stepdown consume`: fetch, print, and as a member of a group commit what was printed."""

from __future__ import annotations

from contextlib import suppress
from typing import BinaryIO

from .client import BrokerClient
from .consume import Wish
from .consume_fetching import Fetcher
from .consume_group import Membership
from .consume_positions import LATEST, Offsets
from .failures import CommandFailed
from .leaders import Leaders, Place
from .stopping import Stopping


def run(entry: BrokerClient, wish: Wish, output: BinaryIO) -> int | None:
    """The signal that ended it, if one did. Raises: CommandFailed, BrokenPipeError when nobody reads the output."""
    with Leaders(entry) as leaders, Stopping() as stopping:
        counts = leaders.learn(wish.topics)
        offsets = Offsets(leaders, wish.isolation)
        reader = _Reader(wish, offsets, Fetcher(leaders, offsets, wish.form, wish.isolation), output, stopping)
        if wish.group is None:
            reader.begin(dict.fromkeys(_places(wish, counts)))
            reader.read(None)
        else:
            _read_as_member(reader, Membership(entry, leaders, wish.group, wish.topics))
        return stopping.by


def _places(wish: Wish, counts: dict[str, int]) -> list[Place]:
    if wish.partitions is None:
        return [(topic, partition) for topic, count in counts.items() for partition in range(count)]
    for topic, count in counts.items():
        for partition in wish.partitions:
            if partition >= count:
                hint = "`stepdown topics describe` shows partitions."
                raise CommandFailed(f"topic {topic} has {count} partitions, no partition {partition}", hint)
    return [(topic, partition) for topic in counts for partition in wish.partitions]


def _read_as_member(reader: _Reader, membership: Membership) -> None:
    try:
        while not reader.is_over:
            reader.begin(membership.join())
            reader.read(membership)
    finally:
        with suppress(CommandFailed):  # the session ends by itself, and what went wrong before is to be told
            membership.leave()


class _Reader:
    """Prints until what was asked for is done."""

    def __init__(self, wish: Wish, offsets: Offsets, fetcher: Fetcher, output: BinaryIO, stopping: Stopping) -> None:
        self._wish, self._offsets, self._fetcher = wish, offsets, fetcher
        self._output, self._stopping = output, stopping
        self._printed = 0
        self.is_over = False

    def begin(self, committed: dict[Place, int | None]) -> None:
        """Reads these partitions from now on; where nothing was committed, from where was asked."""
        fresh = [place for place, offset in committed.items() if offset is None]
        positions = {place: offset for place, offset in committed.items() if offset is not None}
        if fresh:
            positions |= self._offsets.resolve(fresh, self._wish.start or self._wish.otherwise)
        ends = self._offsets.at(positions, LATEST) if self._wish.until_end and positions else None
        if self._wish.until_end and ends is None:
            ends = {}
        self._fetcher.begin(positions, ends)

    def read(self, membership: Membership | None) -> None:
        """Returns when all is done, or the member has to join again; what was printed is committed then."""
        while not (self._fetcher.is_done or self._is_stopped):
            self._print()
            if membership is not None:
                membership.commit(self._fetcher.positions)
                membership.beat()
                if membership.must_join:
                    break
        self.is_over = self._fetcher.is_done or self._is_stopped
        if membership is not None:
            membership.commit(self._fetcher.positions, now=True)

    @property
    def _is_stopped(self) -> bool:
        return self._stopping.by is not None or self._printed == self._wish.count

    def _print(self) -> None:
        for place, record in self._fetcher.poll():
            self._output.write(self._wish.show(place, record))
            self._printed += 1
            if self._is_stopped:
                break
        self._output.flush()
