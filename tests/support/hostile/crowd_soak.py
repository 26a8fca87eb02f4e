"""An honest producer and consumer among a thousand connections of all kinds:

    python -m support.hostile.crowd_soak SECONDS

Run in tests/, by `make crowd-soak`. A crowd comes and goes first, so that all handlers have been read: with them the
broker is idle. Then the two are measured alone, and with a crowd there. Says what they had of a fair share, the longest
that a small request took, and how much the broker has grown when the crowd has left.

A fair share is what the two would get if the broker's processor time were divided equally among the connections that
always have something to do: these two and six of the crowd, so 2 of 8. Alone the two pay so many microseconds of it for
a record; what the broker has of it beside the crowd, whose processes share the machine, is measured as well:

    fair rate = rate alone * 2/8 * (broker's seconds of CPU a second beside the crowd) / (the same alone)

The other connections of the crowd, 994, want some of it too (slow senders, damaged requests, readers that come back):
that is not taken off, so the bar is a little above what is fair.
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
from .crowd import CONNECTIONS, PIPELINING
from .honest import TOPIC as HONEST_TOPIC
from .rows import TESTS, client, command, create

WARM_UP_S = 10.0
ALONE_S = 10.0
SETTLE_S = 60.0
HONEST_CONNECTIONS = 2
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
    """The two alone and among the crowd, the parts of a fair share that they had, and the broker's growth."""

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
    with client(server.address, str(seed + 1), module="crowd"):
        honest(server, WARM_UP_S)
    alone = honest(server, ALONE_S)
    idle_bytes = usage.rss_bytes()
    usage.forget_peak()
    with client(server.address, str(seed), module="crowd"):
        probing = subprocess.Popen(
            command("probe", server.address, str(seconds)), cwd=TESTS, stdout=subprocess.PIPE, text=True
        )
        crowded = honest(server, seconds)
        waits = sorted(json.loads(probing.communicate()[0]))
    peak_bytes = usage.peak_rss_bytes()
    end = monotonic() + SETTLE_S
    while (growth := usage.rss_bytes() - idle_bytes) > 0 and monotonic() < end:
        sleep(1)
    fair = HONEST_CONNECTIONS / (HONEST_CONNECTIONS + len(PIPELINING)) * crowded.cpu / alone.cpu
    return Felt(
        alone=alone,
        crowded=crowded,
        produced_share=crowded.produced / (alone.produced * fair),
        consumed_share=crowded.consumed / (alone.consumed * fair),
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
