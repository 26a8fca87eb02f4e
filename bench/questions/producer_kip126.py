"""What does estimating compression gain, and what does a wrong estimate cost? (KIP-126)

    python bench/questions/producer_kip126.py 127.0.0.1:9092 --records 20000

Text that compresses well, then bytes that do not, then text again, to a topic whose limit is `batch.size`. In one run
a producer that estimates, and one that assumes 1.0: that nothing is gained. Printed:
records/s, CPU time a record, batches, how full they are, how many were too large and split, and the estimate's way.

The proposal: the estimate falls by 0.005 a batch and rises by 0.05, a split sets it to 1.0, batches are cut to fit.
It has no measurement of its own; that a batch is filled to its size after compression is what it is for.
"""

import argparse
import asyncio
import os
import random
import time
from dataclasses import dataclass, field
from uuid import uuid4

from stepdown.bench.load.filled_topics import create_topic
from stepdown.producer import Producer
from stepdown.producer.accumulator.compression_estimator import INITIAL, CompressionRatios
from stepdown.producer.injected_dependencies import Dependencies
from stepdown.protocol.records.layout import Codec

BATCH_BYTES = 16384
RECORD_BYTES = 500
TURN = 64
WORDS = b"an estimate of how much smaller a batch will be once it is compressed".split()


class RecordingCompressionRatios(CompressionRatios):
    """Remembers each estimate. `fixed`: it stays at 1.0."""

    def __init__(self, *, fixed: bool = False) -> None:
        super().__init__()
        self._fixed = fixed
        self.way: list[float] = [INITIAL]

    def update_estimation(self, topic: str, codec: Codec, observed_ratio: float) -> float:
        estimate = INITIAL if self._fixed else super().update_estimation(topic, codec, observed_ratio)
        self.way.append(estimate)
        return estimate

    def reset_estimation(self, topic: str, codec: Codec, observed_ratio: float) -> None:
        if not self._fixed:
            super().reset_estimation(topic, codec, observed_ratio)
        self.way.append(self.get(topic, codec))


@dataclass(slots=True, kw_only=True)
class Phase:
    """One kind of data through one producer."""

    name: str
    records: int
    seconds: float
    cpu_us: float
    batches: int
    fill_percent: float
    splits: int
    way: list[float] = field(default_factory=list)


def text(draws: random.Random) -> bytes:
    found = b" ".join(draws.choice(WORDS) for _ in range(RECORD_BYTES // 4))
    return found[:RECORD_BYTES]


def noise(draws: random.Random) -> bytes:
    return draws.randbytes(RECORD_BYTES)


async def measure_phases(
    address: str, ratio_recorder: RecordingCompressionRatios, asked: argparse.Namespace
) -> list[Phase]:
    topic, draws, phases = f"kip126-{uuid4().hex[:8]}", random.Random(7), []
    await asyncio.to_thread(create_topic, address, topic, 1, {"max.message.bytes": str(BATCH_BYTES)})
    settings = {"linger_ms": 20, "batch_size": BATCH_BYTES, "compression": asked.codec, "max_request_size": 1 << 22}

    class Watching(Producer):
        def _make_dependencies(self) -> Dependencies:
            return Dependencies(ratios=ratio_recorder)

    async with Watching(address, **settings) as producer:
        for name, make in (("text", text), ("noise", noise), ("text again", text)):
            values = [make(draws) for _ in range(min(asked.records, 500))]
            sizes, splits = producer.meters.series["batch_bytes"], producer.meters.series["splits"]
            before = (sizes.total_count, sizes.total, splits.total, len(ratio_recorder.way))
            started, cpu = time.perf_counter(), time.process_time()
            for at in range(asked.records):
                delivery = producer.send(topic, values[at % len(values)])
                if at % TURN == TURN - 1:
                    await delivery.accepted()
                    await asyncio.sleep(0)
            await producer.flush()
            batches = producer.meters.series["batch_bytes"].total_count - before[0]
            phases.append(
                Phase(
                    name=name,
                    records=asked.records,
                    seconds=time.perf_counter() - started,
                    cpu_us=(time.process_time() - cpu) / asked.records * 1e6,
                    batches=batches,
                    fill_percent=100 * (sizes.total - before[1]) / batches / BATCH_BYTES,
                    splits=int(splits.total - before[2]),
                    way=ratio_recorder.way[before[3] :],
                )
            )
    return phases


async def compare_estimate_with_fixed_ratio(address: str, asked: argparse.Namespace) -> dict[str, list[Phase]]:
    found = {
        "estimate": await measure_phases(address, RecordingCompressionRatios(), asked),
        "assume 1.0": await measure_phases(address, RecordingCompressionRatios(fixed=True), asked),
    }
    load = os.getloadavg()[0]
    print(f"{asked.records} records of {RECORD_BYTES} bytes a phase, {asked.codec}; load average {load:.1f}")
    print("producer       data        records/s  CPU µs/record  batches   fill  splits  estimate")
    for name, phases in found.items():
        for phase in phases:
            print(_line(name, phase))
    print("proposal: -0.005 a batch that compresses better, +0.05 one that does worse, 1.0 after a split")
    return found


def _line(name: str, phase: Phase) -> str:
    way = phase.way
    shown = [way[at * (len(way) - 1) // 5] for at in range(6)] if way else []
    path = " ".join(f"{estimate:.3f}" for estimate in shown)
    return (
        f"{name:14} {phase.name:10} {phase.records / phase.seconds:10,.0f} {phase.cpu_us:14.1f} {phase.batches:8} "
        f"{phase.fill_percent:5.0f}% {phase.splits:7}  {path}"
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address")
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--codec", choices=["gzip", "snappy", "lz4", "zstd"], default="lz4")
    asked = parser.parse_args(arguments)
    asyncio.run(compare_estimate_with_fixed_ratio(asked.address, asked))


if __name__ == "__main__":
    main()
