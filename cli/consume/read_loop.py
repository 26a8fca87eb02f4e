"""The loop of `stepdown consume`: fetches and prints records, and commits the printed ones for a group member."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from ...client.operation import TopicPartition
from ...client.operations.offsets import LATEST
from ...client.operations.partition_leaders import PartitionLeaders
from ...protocol.plural import plural
from ..support.command_client import CommandClient, is_broken_connection
from ..support.failures import CommandFailure
from ..support.standard_streams import print_error, raise_if_reader_has_gone
from ..support.stop_signals import SignalStop, StopSignals
from .fetcher import Fetcher
from .group_membership import GroupMembership
from .options import ConsumeOptions
from .start_positions import OffsetLookup

PAUSE_SECONDS = 0.5
"""The pause between two tries to reach a lost broker."""


def run_consume(client: CommandClient, options: ConsumeOptions, output: BinaryIO) -> int | None:
    """Returns the signal that ended it, or None. Raises: CommandFailure, and BrokenPipeError from the output."""
    leaders = PartitionLeaders()
    with StopSignals() as stopping, suppress(SignalStop):
        client.stopping = stopping
        counts = client.run(leaders.refresh_and_count_partitions(options.topics))
        offsets = OffsetLookup(client, leaders, options.isolation)
        fetcher = Fetcher(client, leaders, offsets, options)
        reader = _ReadLoop(options, offsets, fetcher, output, stopping)
        if options.group is None:
            reader.begin_at(dict.fromkeys(_choose_partitions(options, counts)))
            reader.read(None)
        else:
            _read_as_member(reader, GroupMembership(client, leaders, options.group, options.topics))
    return stopping.by


def _choose_partitions(options: ConsumeOptions, counts: dict[str, int]) -> list[TopicPartition]:
    if options.partitions is None:
        return [(topic, partition) for topic, count in counts.items() for partition in range(count)]
    for topic, count in counts.items():
        for partition in options.partitions:
            if partition >= count:
                hint = "`stepdown topics describe` shows partitions."
                raise CommandFailure(f"topic {topic} has {plural(count, 'partition')}, no partition {partition}", hint)
    return [(topic, partition) for topic in counts for partition in options.partitions]


def _read_as_member(reader: _ReadLoop, membership: GroupMembership) -> None:
    try:
        while not reader.is_over:
            with reader.suppress_lost_broker():
                reader.begin_at(membership.join())
                reader.read(membership)
    finally:
        with suppress(CommandFailure):  # the session times out anyway, and the first failure is the one to report
            membership.leave()


class _ReadLoop:
    """Prints records until the end, the count or a signal is reached."""

    def __init__(
        self, options: ConsumeOptions, offsets: OffsetLookup, fetcher: Fetcher, output: BinaryIO, stopping: StopSignals
    ) -> None:
        self._options, self._offsets, self._fetcher = options, offsets, fetcher
        self._output, self._stopping = output, stopping
        self._printed = 0
        self._has_read = self._has_lost_broker = False
        self.is_over = False

    def begin_at(self, committed: dict[TopicPartition, int | None]) -> None:
        """Replaces the partitions to read; those without a committed offset start where the options say."""
        fresh = [topic_partition for topic_partition, offset in committed.items() if offset is None]
        positions = {topic_partition: offset for topic_partition, offset in committed.items() if offset is not None}
        if fresh:
            positions |= self._offsets.find_start_offsets(fresh, self._options.start or self._options.otherwise)
        ends = self._offsets.find_offsets_at(positions, LATEST) if self._options.until_end and positions else None
        if self._options.until_end and ends is None:
            ends = {}
        self._fetcher.set_positions(positions, ends)

    def read(self, membership: GroupMembership | None) -> None:
        """Reads until the end, or until the member has to join again; then commits what was printed."""
        while not (self._fetcher.is_done or self._is_stopped):
            raise_if_reader_has_gone(self._output)
            with suppress(SignalStop), self.suppress_lost_broker():
                self._fetch_and_print()
                self._note_broker_answers()
                if membership is not None:
                    membership.commit(self._fetcher.positions)
                    membership.send_heartbeat_if_due()
                    if membership.must_join:
                        break
        self.is_over = self._fetcher.is_done or self._is_stopped
        if membership is not None:
            membership.commit(self._fetcher.positions, now=True)

    @contextmanager
    def suppress_lost_broker(self) -> Iterator[None]:
        """Suppresses the loss of a broker after the first read, pauses and looks up leaders; the caller tries again."""
        try:
            yield
        except CommandFailure as failure:
            if self.is_over or not (self._has_read and is_broken_connection(failure)):
                raise
            if not self._has_lost_broker:
                print_error(f"stepdown: {failure.args[0]}; trying until a broker answers, ^C ends it")
            self._has_lost_broker = True
            time.sleep(PAUSE_SECONDS)
            with suppress(CommandFailure):
                self._fetcher.look_up_leaders()

    def _note_broker_answers(self) -> None:
        if self._has_lost_broker:
            print_error("stepdown: a broker answers again")
        self._has_read, self._has_lost_broker = True, False

    @property
    def _is_stopped(self) -> bool:
        return self._stopping.by is not None or self._printed == self._options.count

    def _fetch_and_print(self) -> None:
        count, fetcher = self._options.count, self._fetcher
        for topic_partition, rows in fetcher.fetch_records():
            wanted = rows if count is None else rows.first(count - self._printed)
            self._output.write(self._options.render(topic_partition, wanted))
            self._printed += len(wanted)
            if len(wanted) < len(rows):
                fetcher.positions[topic_partition] = wanted.offsets[-1] + 1
            if self._is_stopped:
                break
        self._output.flush()
