"""An honest producer and consumer among a thousand connections of all kinds:

    python -m support.hostile.crowd_soak SECONDS

Run in tests/, by `make crowd-soak`. A crowd comes and goes first, so that all handlers have been read: with them the
broker is idle. Then the two are measured among equals, alone, and in the crowd. Says what they had of a fair share, the
longest that a small request took, and how much the broker has grown when the crowd has left.

A fair share is what the two have among equals: in the same crowd, but the six that send all that they can are honest
producers too, so nobody has more than another. What the broker has of the processor beside either crowd, whose
processes share the machine, is measured as well:

    fair rate = rate among equals * (broker's seconds of CPU a second in the crowd) / (the same among equals)

It is not 2/8 of what they have alone. The consumer wants less than an eighth of the processor, and what it leaves is
for all; and a request costs more between requests of other kinds than between its like.
"""

import json
import resource
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic, sleep

from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.record import Record
from support.broker import Stepdown

from .attacks import TOPIC, produce_batch
from .client import one_by_one_quietly
from .crowd import CONNECTIONS
from .honest import TOPIC as HONEST_TOPIC
from .rows import TESTS, client, command, create

WARM_UP_S = 10.0
EQUALS_S = 30.0
ALONE_S = 10.0
SETTLE_S = 60.0
STORED_BATCHES, STORED_RECORDS = 64, 1_000
DESCRIPTORS = 8_192
SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "log.segment.bytes": str(32 << 20),
    "log.retention.ms": "-1",
    "log.retention.bytes": str(2 << 30),  # alone the consumer falls behind by 60 MB a second
    "log.retention.check.interval.ms": "5000",
    "log.segment.delete.delay.ms": "5000",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Records a second of the producer and the consumer, both at once, and the broker's seconds of CPU a second."""

    produced: float
    consumed: float
    cpu: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Felt:
    """The two among equals, alone and in the crowd, the parts of a fair share that they had, the broker's growth."""

    among_equals: Rates
    alone: Rates
    crowded: Rates
    produced_share: float
    consumed_share: float
    p99_ms: float
    longest_ms: float
    warm_up_bytes: int
    growth_peak_bytes: int
    growth_afterwards_bytes: int


def honest(server: Stepdown, seconds: float) -> Rates:
    """What the two have for so many seconds."""
    cpu_before = server.usage.cpu_seconds()
    pair = [
        subprocess.Popen(
            command(kind, server.address, str(seconds), module="honest"), cwd=TESTS, stdout=subprocess.PIPE, text=True
        )
        for kind in ("consume", "produce")
    ]
    consumed, produced = (float(process.communicate()[0].split()[-1]) for process in pair)
    cpu = (server.usage.cpu_seconds() - cpu_before) / seconds
    return Rates(produced=produced, consumed=consumed, cpu=cpu)


def in_a_crowd(server: Stepdown, kind: str, seconds: float, seed: int) -> tuple[Rates, list[float]]:
    """What the two have in such a crowd, and how many milliseconds small requests took, the shortest first."""
    with client(kind, server.address, str(seed), module="crowd"):
        probing = subprocess.Popen(
            command("probe", server.address, str(seconds)), cwd=TESTS, stdout=subprocess.PIPE, text=True
        )
        rates = honest(server, seconds)
        return rates, sorted(json.loads(probing.communicate()[0]))


def store(address: str) -> None:
    """What the stalled readers ask for, compressed by nobody."""
    records = [
        Record(offset=number, timestamp=1, key=None, value=b"%8d" % number * 16, headers=())
        for number in range(STORED_RECORDS)
    ]
    batch = build_batch(records, magic=2)
    one_by_one_quietly(address, (produce_batch(batch) for _ in range(STORED_BATCHES)))


def felt(server: Stepdown, seconds: float, seed: int = 1) -> Felt:
    """What the honest two, and the broker's memory, feel of the crowd. The server has been started."""
    create(server.address, {TOPIC: 1, HONEST_TOPIC: 1})
    store(server.address)
    usage = server.usage
    cold_bytes = usage.rss_bytes()
    in_a_crowd(server, "all", WARM_UP_S, seed + 1)
    among_equals, _ = in_a_crowd(server, "equals", EQUALS_S, seed)
    alone = honest(server, ALONE_S)
    idle_bytes = usage.rss_bytes()
    usage.forget_peak()
    crowded, waits = in_a_crowd(server, "all", seconds, seed)
    peak_bytes = usage.peak_rss_bytes()
    end = monotonic() + SETTLE_S
    while (growth := usage.rss_bytes() - idle_bytes) > 0 and monotonic() < end:
        sleep(1)
    fair = crowded.cpu / among_equals.cpu
    return Felt(
        among_equals=among_equals,
        alone=alone,
        crowded=crowded,
        produced_share=crowded.produced / (among_equals.produced * fair),
        consumed_share=crowded.consumed / (among_equals.consumed * fair),
        p99_ms=waits[int(len(waits) * 0.99)],
        longest_ms=waits[-1],
        warm_up_bytes=idle_bytes - cold_bytes,
        growth_peak_bytes=peak_bytes - idle_bytes,
        growth_afterwards_bytes=growth,
    )


def main(seconds: float) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
    with tempfile.TemporaryDirectory() as folder:
        server = Stepdown(Path(folder), properties=SETTINGS)
        server.start()
        try:
            found = felt(server, seconds)
            log = server.log
        finally:
            server.kill()
    print(f"{CONNECTIONS} connections for {seconds:.0f} s: {json.dumps(asdict(found))}")
    for line in log.splitlines():
        if "held for" in line or "Traceback" in line:
            print(line)


if __name__ == "__main__":
    main(float(sys.argv[1]))
