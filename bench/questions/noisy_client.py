"""What does one client cost the others, here and with Apache Kafka 3.9.1?

    python bench/questions/noisy_client.py stepdown kafka --rows pipelined_api_versions many_names

For each row of the table in docs/limits.md a server is started, clients send what the row says, as processes of their
own, and a probe sends small requests meanwhile; members of groups send heartbeats. Prints a line of the table for each.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from stepdown.bench.failures import BenchFailure
from stepdown.bench.servers.contenders import Contender
from stepdown.bench.servers.kafka import KafkaServer
from stepdown.bench.servers.maven import user_store
from stepdown.bench.servers.stepdown import Stepdown

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from support.hostile.rows import ROWS, Row, felt  # type: ignore[import-not-found]

SETTINGS = {"group.initial.rebalance.delay.ms": "0", "group.coordinator.rebalance.protocols": "classic,consumer"}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("servers", nargs="+", choices=("stepdown", "kafka"))
    parser.add_argument("--rows", nargs="*", default=[row.name for row in ROWS])
    parser.add_argument("--seconds", type=float, default=5.0)
    given = parser.parse_args(arguments)
    print("| sent | server | p50 ms | p99 ms | longest ms | growth MiB | heartbeats |\n|---|---|---|---|---|---|---|")
    for row in ROWS:
        for name in given.servers:
            if row.name in given.rows and (name == "stepdown" or row.kafka_answers):
                print(f"| {row.told} | {name} | {measured(row, name, given.seconds)} |", flush=True)


def measured(row: Row, name: str, seconds: float) -> str:
    with tempfile.TemporaryDirectory() as folder:
        server = server_of(name, Path(folder))
        server.start()
        try:
            found = felt(row, server, seconds)
        except Exception as fault:
            return f"failed: {type(fault).__name__}{', out of memory' if 'OutOfMemoryError' in server.log else ''}"
        finally:
            log = server.log
            server.kill()
        if "Traceback" in log or "OutOfMemoryError" in log:
            print(log[-2000:], file=sys.stderr)
    codes = "all answered" if found.heartbeat_codes in ([], [0]) else f"errors {found.heartbeat_codes}"
    growth_mib = found.growth_bytes / (1 << 20)
    return f"{found.p50_ms:.1f} | {found.p99_ms:.1f} | {found.most_ms:.0f} | {growth_mib:.0f} | {codes}"


def server_of(name: str, folder: Path) -> Contender:
    if name == "kafka":
        return KafkaServer(folder, user_store(), properties=SETTINGS, heap="1g")
    return Stepdown(folder, properties=SETTINGS)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except BenchFailure as fault:
        sys.exit(str(fault))
