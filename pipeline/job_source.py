"""What a job reads: a place, its tiered storage, the topics, and how to reach them; the options of jobs for it."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .failures import BadUsage
from .layouts.partition_logs import find_partition_logs
from .places.place_files import PlaceFiles, complete_store_options, join_places, normalize, split_places
from .reading.partition_segments import PartitionSegments


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """`topics` None: all but internal ones. `store` are options of object stores, by obstore's names.

    `beside` are the other log directories of the broker whose `path` is one.
    """

    path: str
    beside: tuple[str, ...] = ()
    topics: Sequence[str] | None = None
    tiered_path: str | None = None
    store: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def joined_directories(self) -> str:
        """The directories as one option or argument names them."""
        return join_places((self.path, *self.beside))

    def find_logs(self, files: PlaceFiles) -> list[PartitionSegments]:
        """The logs to read. Raises: BadUsage, also where there are none; DiskFault."""
        return find_partition_logs(files, self.path, self.topics, beside=self.beside, tiered_path=self.tiered_path)

    def spark_options(self) -> dict[str, str]:
        """The options of `kafka-segments` and `kafka-batches` that read the same."""
        options = {"path": self.joined_directories} | {f"store.{name}": value for name, value in self.store.items()}
        if self.topics is not None:
            options["subscribe"] = ",".join(self.topics)
        if self.tiered_path is not None:
            options["tieredPath"] = self.tiered_path
        return options


def add_source_arguments(parser: argparse.ArgumentParser) -> None:
    """The argument LOG_DIR and the options that go with it."""
    parser.add_argument(
        "log_dir",
        metavar="LOG_DIR",
        help="a log directory or tiered storage: path, s3://, gs://, ...; A,B: several of one broker",
    )
    add_source_options(parser)


def add_source_options(parser: argparse.ArgumentParser) -> None:
    """The options of a source without the place itself."""
    parser.add_argument("--tiered", metavar="PLACE", help="where the tiered storage of LOG_DIR lies (KIP-405)")
    parser.add_argument("--topics", metavar="TOPIC,...", help="only these; by default all but internal ones")
    add_store_options(parser)


def add_store_options(parser: argparse.ArgumentParser) -> None:
    """The options of the object stores of a job."""
    parser.add_argument(
        "--store-option",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="an option of the object store, such as aws_endpoint=http://127.0.0.1:9000; may be repeated",
    )


def source_of(arguments: argparse.Namespace, *others: str) -> Source:
    """What the command line names. `others` are further places that the job uses. Raises: BadUsage."""
    path, *beside = split_places(arguments.log_dir) or [""]
    tiered = None if arguments.tiered is None else normalize(arguments.tiered)
    given = parse_store_options(arguments.store_option)
    return Source(
        path=path,
        beside=tuple(beside),
        topics=[topic for topic in (arguments.topics or "").split(",") if topic] or None,
        tiered_path=tiered,
        store=complete_store_options([path, *beside, tiered or "", *others], given),
    )


def parse_store_options(options: Sequence[str]) -> dict[str, str]:
    """Options NAME=VALUE as they were given. Raises: BadUsage."""
    given = {}
    for option in options:
        name, separator, value = option.partition("=")
        if not separator:
            raise BadUsage(f"--store-option takes NAME=VALUE, found {option!r}")
        given[name] = value
    return given
