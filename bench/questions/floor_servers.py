"""floor.c and floor.py as servers of a contest, and the plans that tell them what to answer.

A plan's slices are the segment files of a broker that was filled as for any other benchmark, so the same pages of the
same cache; its heads are what our own codec writes around records of that size.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from stepdown.bench.cases.fetching import PARTITION_FETCH_BYTES, topic_of
from stepdown.bench.cases.producing import PARTITIONS
from stepdown.bench.failures import BenchFailed
from stepdown.bench.load.connection import host_and_port
from stepdown.bench.load.topics import PRODUCE_VERSION, Filling, batch_of, produce_frame
from stepdown.bench.servers.process import Process, Restartable, free_port, wait_until
from stepdown.protocol.api import API, ApiKey
from stepdown.protocol.frame import encode_response
from stepdown.protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from stepdown.protocol.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from stepdown.protocol.records.layout import LOG_OVERHEAD, RECORD_OVERHEAD, Codec
from stepdown.storage.conversion_rules import CHUNK_BYTES

HERE = Path(__file__).parent
SEGMENT = "00000000000000000000.log"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSlice:
    """A piece of an answer: the first `size_bytes` of a file."""

    path: Path
    size_bytes: int


class FloorServer(Restartable):
    """One way to answer one plan; `arguments` are those of floor.c but for the port."""

    http = ""
    version = "floor"

    def __init__(self, folder: Path, name: str, program: Sequence[str], kind: str, arguments: Sequence[object]) -> None:
        super().__init__(folder, "floor.out")
        self.name = name
        self.address = ""
        self._program = program
        self._kind = kind
        self._arguments = arguments

    def start(self) -> None:
        """Returns when it listens."""
        port = free_port()
        self.address = f"127.0.0.1:{port}"
        command = [*self._program, self._kind, str(port), *map(str, self._arguments)]
        self._process = Process(command, self.output)
        wait_until(self._listens, f"{self.name} listens")

    def stop(self) -> None:
        """It has nothing to lose."""
        self.kill()

    def kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()

    def _listens(self) -> bool:
        if self.has_ended:
            raise BenchFailed(f"{self.name} ended while starting: {self.log}")
        with suppress(OSError), socket.create_connection(host_and_port(self.address), timeout=5):
            return True
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class FloorMaker:
    """Makes servers that keep their plans in `folder`; `c` is the compiled floor.c."""

    folder: Path
    c: Path
    topic: str = "floor"

    def fetch(self, plan: Path, name: str, way: str, sizes: "Sizes | None" = None, threads: int = 1) -> FloorServer:
        """Sums where `sizes` say what a message is, else none. A name beginning with Python is floor.py."""
        sizes = sizes or Sizes()
        arguments = (plan, threads, way, sizes.read_bytes, sizes.send_bytes, sizes.message_bytes)
        return FloorServer(self.folder, name, self._program(name), "fetch", arguments)

    def produce(self, plan: Path, name: str, filling: Filling) -> FloorServer:
        frame, batch = produce_frame(self.topic, 0, filling), batch_of(filling)
        records_at = len(frame) - len(batch)
        partition_at = records_at - 4 - 4  # int32 index, int32 size of the records
        return FloorServer(self.folder, name, self._program(name), "produce", (plan, 1, partition_at, records_at))

    def fetch_plan(self, log_dir: Path, filling: Filling, version: int) -> Path:
        """The answer to a fetch of all partitions of a topic under `log_dir`."""
        topic = topic_of(filling)
        slices = [log_dir / f"{topic}-{index}" / SEGMENT for index in range(filling.partitions)]
        found = tuple(
            PartitionData(
                partition_index=index,
                high_watermark=filling.records,
                records=StoredSlice(path=path, size_bytes=min(PARTITION_FETCH_BYTES, path.stat().st_size)),
            )
            for index, path in enumerate(slices)
        )
        response = FetchResponse(responses=(FetchableTopicResponse(topic=topic, partitions=found),))
        return self._write_plan(f"{topic}-v{version}", encode_response(API[ApiKey.FETCH], version, 0, response))

    def produce_plan(self) -> Path:
        """The answer to a batch, and an empty file for each partition."""
        partition = PartitionProduceResponse(index=0)
        response = ProduceResponse(responses=(TopicProduceResponse(name=self.topic, partition_responses=(partition,)),))
        pieces: list[object] = list(encode_response(API[ApiKey.PRODUCE], PRODUCE_VERSION[2], 0, response))
        pieces += [StoredSlice(path=path, size_bytes=0) for path in self.logs()]
        self.empty_logs()
        return self._write_plan("produce", pieces)

    def logs(self) -> list[Path]:
        return [self.folder / f"{self.topic}-{index}.log" for index in range(PARTITIONS)]

    def empty_logs(self) -> None:
        """Gives back the pages that a turn has written."""
        for path in self.logs():
            path.touch()
            os.truncate(path, 0)

    def _program(self, name: str) -> list[str]:
        return [sys.executable, str(HERE / "floor.py")] if name.startswith("Python") else [str(self.c)]

    def _write_plan(self, name: str, pieces: Sequence[object]) -> Path:
        lines = []
        for index, piece in enumerate(pieces):
            if isinstance(piece, StoredSlice):
                lines.append(f"slice {piece.size_bytes} {piece.path}\n")
            else:
                assert isinstance(piece, bytes | bytearray | memoryview)
                path = self.folder / f"{name}.{index}"
                path.write_bytes(piece)
                lines.append(f"bytes {len(piece)} {path}\n")
        plan = self.folder / f"{name}.plan"
        plan.write_text("".join(lines))
        return plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """What a converter reads at a time, what it makes of that, and the size of one message of it; 0: nothing summed."""

    read_bytes: int = CHUNK_BYTES
    send_bytes: int = CHUNK_BYTES
    message_bytes: int = 0


def converted_sizes(filling: Filling, magic: int) -> Sizes:
    """Of a chunk of stored batches: plain ones become a message a record, compressed ones a wrapper of their size."""
    batch = len(batch_of(filling))
    if filling.codec is not Codec.NONE:
        return Sizes(message_bytes=batch)
    message = LOG_OVERHEAD + RECORD_OVERHEAD[magic] + filling.record_bytes
    send_bytes = CHUNK_BYTES * filling.records_a_batch * message // batch
    return Sizes(send_bytes=send_bytes, message_bytes=message)


def compile_floor(folder: Path) -> Path:
    """floor.c as a program in `folder`. Raises: BenchFailed with what the compiler said."""
    program = folder / "floor"
    kernel = HERE.parents[1] / "protocol" / "records" / "kernel"
    command = ["cc", "-O3", "-pthread", "-I", str(kernel), "-o", str(program), str(HERE / "floor.c")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchFailed(f"floor.c does not compile: {done.stderr}")
    return program
