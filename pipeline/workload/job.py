"""The job `workload`: write a seeded load to a broker or a log directory."""

import argparse
from dataclasses import fields

from ...protocol.records.layout import Codec
from ..console_output import print_rows, print_to_stderr
from ..failures import BadUsage
from ..kafka_connector import check_one_address_listens
from ..spark_packages import jar_settings
from .log_directory import write_log_directory
from .records import KEYS, START_MS, Workload

_CODECS = [codec.name.lower() for codec in Codec]
_TOLD_EVERY = 1_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the job."""
    parser.add_argument("target", metavar="ADDR|LOG_DIR", help="HOST:PORT of a broker, or a log directory nobody uses")
    parser.add_argument("--records", type=int, required=True, help="how many")
    parser.add_argument("--size", type=int, default=1000, help="bytes of a value (default 1000)")
    parser.add_argument("--topic", default="workload", help="default: workload; in a directory it goes on at its end")
    parser.add_argument("--partitions", type=int, default=1, help="default 1")
    parser.add_argument("--codec", choices=_CODECS, default="none", help="default none")
    parser.add_argument("--magic", type=int, choices=(0, 1, 2), default=2, help="a broker is sent 2")
    parser.add_argument("--keys", choices=KEYS, default="null", help="none, or drawn evenly or by Zipf's law")
    parser.add_argument("--distinct-keys", type=int, default=10_000, help="keys to choose from (default 10000)")
    parser.add_argument(
        "--batch-bytes", type=int, default=16_384, help="most bytes of a batch before compression, 16384"
    )
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same records")
    parser.add_argument(
        "--start-ms", type=int, default=START_MS, help="timestamp of the first; a broker's retention looks at it"
    )
    parser.add_argument("--segment-bytes", type=int, default=1 << 30, help="of a directory (default 1 GiB)")
    parser.add_argument("--jars", metavar="FOLDER", help="the connector's jars, where Spark cannot fetch them")
    parser.add_argument("--no-idempotence", action="store_true", help="for brokers that have no InitProducerId")


def run(arguments: argparse.Namespace) -> None:
    """Write, and print what was written."""
    given = vars(arguments) | {"codec": Codec[arguments.codec.upper()]}
    try:
        workload = Workload(**{field.name: given[field.name] for field in fields(Workload)})
    except ValueError as wrong:
        raise BadUsage(str(wrong)) from wrong
    row: dict[str, object] = {"topic": workload.topic, "records": workload.records, "seed": workload.seed}
    if is_address(arguments.target):
        _write_to_broker(workload, arguments)
    else:
        row["bytes"] = write_log_directory(
            workload, arguments.target, segment_bytes=arguments.segment_bytes, tell=_JobProgress(workload)
        )
    print_rows("workload", [row], as_json=arguments.json)


def is_address(target: str) -> bool:
    """Whether this is HOST:PORT and no path."""
    _, colon, port = target.rpartition(":")
    return bool(colon) and port.isdecimal() and "/" not in target


def _write_to_broker(workload: Workload, arguments: argparse.Namespace) -> None:
    if workload.magic != 2:
        raise BadUsage(
            f"the connector writes magic 2 unless the broker knows no Produce above 2; magic {workload.magic} goes "
            "into a log directory"
        )
    from ..session import build_session
    from .broker_writer import write_to_broker

    check_one_address_listens(arguments.target)
    session = build_session("workload", master=arguments.master, settings=jar_settings(["connector"], arguments.jars))
    write_to_broker(session, workload, arguments.target, idempotent=not arguments.no_idempotence)


class _JobProgress:
    """Says how far it is, each million records."""

    def __init__(self, workload: Workload) -> None:
        self._of = workload.records
        self._next = _TOLD_EVERY

    def __call__(self, written: int) -> None:
        if written >= self._next:
            print_to_stderr(f"{written:,} of {self._of:,} records")
            self._next += _TOLD_EVERY
