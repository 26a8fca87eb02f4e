"""`stepdown topics adopt`: gives settings to topics that were taken over without them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...protocol.errors import ApiError, DiskFault
from ...protocol.plural import plural
from ..support.bootstrap_server import LOCAL, Bootstrap, connect_client
from ..support.client_properties import CommandConfig
from ..support.completion_values import complete_topics
from ..support.failures import EXIT_BAD_USAGE, CommandFailure
from ..support.outcomes import raise_failed_outcomes
from ..support.standard_streams import print_error
from .hints import HINTS
from .setting_pairs import parse_setting_pairs

if TYPE_CHECKING:
    from ...storage.zookeeper.kafka_cluster import KafkaCluster
    from .adoption import Adoption, TopicPlace
    from .kafka_tool_output import ToolOutput
    from .topic_selection import TopicSelection

SOURCES_HINT = "Pass one of --defaults, -o KEY=VALUE, --from FILE, --zookeeper HOST:PORT and --zookeeper-data DIR."
DELETION_NOTE = (
    "The broker deletes nothing of these for another minute; "
    "until then `stepdown topics alter TOPIC -c retention.ms=-1` keeps all records."
)
NO_TOPIC_FILE_HINT = "Have `kafka-topics.sh --describe` or `kafka-configs.sh --describe` write it again."


def adopt(
    patterns: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TOPIC|PATTERN]...",
            autocompletion=complete_topics,
            help="Such as orders, 'audit-*'. Default: all.",
        ),
    ] = None,
    defaults: Annotated[
        bool,
        typer.Option(
            "--defaults",
            help="They have the broker's defaults: older records than seven days go, or as log.retention.* says.",
        ),
    ] = False,
    override: Annotated[
        list[str] | None,
        typer.Option("--override", "--config", "-o", "-c", metavar="KEY=VALUE", help="A setting; may be repeated."),
    ] = None,
    from_files: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="What kafka-topics.sh --describe or kafka-configs.sh --describe printed; may be repeated.",
        ),
    ] = None,
    zookeeper: Annotated[
        str | None, typer.Option("--zookeeper", metavar="HOST:PORT", help="A live ZooKeeper; /CHROOT may follow.")
    ] = None,
    zookeeper_data: Annotated[
        str | None,
        typer.Option("--zookeeper-data", metavar="DIR", help="Its dataDir at rest; with a comma the dataLogDir, too."),
    ] = None,
    log_dirs: Annotated[
        list[str] | None,
        typer.Option("--log-dir", metavar="LOG_DIR", help="A log directory that no broker has open; may be repeated."),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE", help="With --log-dir: its server.properties."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be deleted.")] = False,
    bootstrap: Bootstrap = LOCAL,
    command_config: CommandConfig = None,
) -> None:
    """Give settings to topics that were taken over without them.

    Topics whose settings are known are left as they are: change those with `stepdown topics alter`.
    """
    from . import adoption
    from .topic_selection import TopicSelection

    given = {
        "--defaults": defaults,
        "-o": bool(override),
        "--from": bool(from_files),
        "--zookeeper": zookeeper is not None,
        "--zookeeper-data": zookeeper_data is not None,
    }
    _check_sources([option for option, is_given in given.items() if is_given])
    configs, described = parse_setting_pairs(override or [], "-o"), read_tool_output(from_files or [])
    if config is not None and not log_dirs:
        raise CommandFailure("--config goes with --log-dir", "A running broker has its own.", EXIT_BAD_USAGE)
    cluster = _read_zookeeper(zookeeper, zookeeper_data, log_dirs or [])
    if cluster is not None:
        described = _convert_zookeeper_cluster(cluster)
    counts = {} if described is None else internal_partition_counts(described)
    selection = TopicSelection(
        patterns or [], None if described is None or cluster is not None else list(described.topics)
    )
    if log_dirs:
        opened = _open_directories(log_dirs, config, described, cluster, selection, dry_run=dry_run)
    else:
        opened = _connect_to_topics(bootstrap, command_config, selection)
    with opened as place:
        for line in place.apply_internal_partition_counts(counts):
            typer.echo(line)
        known = place.topics()
        names = adoption.select_unknown_topics(known, patterns or [])
        adoptions = adoption.plan_adoptions(names, configs, described)
        for each in adoptions:
            typer.echo(describe_adoption(place, each))
        for line in place.adopt_or_report_access(cluster) if cluster is not None else ():
            typer.echo(line)
        if not dry_run:
            adopt_all(place, adoptions)
            if adoptions:
                print_error(DELETION_NOTE)
        left = len(names) - len(adoptions)
    for line in adoption.describe_missing_partitions(known, described) if described is not None else ():
        print_error(f"missing: {line}")
    if left:
        print_error(f"{plural(left, 'topic')} without settings: no file names them")
    elif not adoptions:
        typer.echo("no topic of these is without settings: nothing was changed")


def _check_sources(options: Sequence[str]) -> None:
    """Raises: CommandFailure if there is no source of settings, or more than one."""
    if not options:
        raise CommandFailure("it is not said what the settings are", SOURCES_HINT, EXIT_BAD_USAGE)
    if len(options) > 1:
        raise CommandFailure(f"{' and '.join(options)} cannot be given together", SOURCES_HINT, EXIT_BAD_USAGE)


def _read_zookeeper(zookeeper: str | None, zookeeper_data: str | None, log_dirs: Sequence[str]) -> KafkaCluster | None:
    """Returns the cluster of these directories in ZooKeeper; None without a ZooKeeper. Raises: CommandFailure."""
    from ...storage.directories.meta_properties import read_meta_properties
    from ...storage.files.files import Files
    from ..support.zookeeper_reading import read_zookeeper

    if zookeeper is None and zookeeper_data is None:
        return None
    try:
        metas = [read_meta_properties(Files(read_only=True), path) for path in log_dirs]
    except DiskFault as fault:
        raise CommandFailure(str(fault)) from fault
    cluster_id = next((meta.cluster_id for meta in metas if meta is not None and meta.cluster_id), None)
    source = read_zookeeper(zookeeper, zookeeper_data, cluster_id)
    for line in [*source.notes, *source.gaps]:
        print_error(line)
    return source.cluster


def _convert_zookeeper_cluster(cluster: KafkaCluster) -> ToolOutput:
    from .zookeeper_adoption import make_tool_output

    lines: list[str] = []
    described = make_tool_output(cluster, lines)
    for line in lines:
        print_error(line)
    return described


@contextmanager
def _open_directories(
    log_dirs: Sequence[str],
    config: Path | None,
    described: ToolOutput | None,
    cluster: KafkaCluster | None,
    selection: TopicSelection,
    *,
    dry_run: bool,
) -> Iterator[TopicPlace]:
    """Yields the topics of directories; a dry run only reads them.

    Raises: CommandFailure, also if a selected topic is not there; then nothing is written.
    """
    from ...broker.metadata.topic_loading import SETTINGS_OF_PARTITIONS
    from ..support.directories_at_rest import load_settings_for, open_at_rest
    from .directory_reading import DirectoryReading
    from .directory_topics import LOCKED_HINT, DirectoryTopics
    from .zookeeper_adoption import write_topic_ids

    counts = {} if described is None else internal_partition_counts(described)
    settings: dict[str, object] = {SETTINGS_OF_PARTITIONS[name]: count for name, count in counts.items()}
    if cluster is not None and cluster.cluster_id:
        settings["stepdown.cluster.id"] = cluster.cluster_id
    reading = DirectoryReading(load_settings_for(log_dirs, config, settings), described)
    selection.check_any_topic_matches(reading.topics())
    if dry_run:
        yield reading
        return
    if cluster is not None:
        write_topic_ids(log_dirs, cluster)
    with open_at_rest(log_dirs, config, LOCKED_HINT, settings) as broker:
        yield DirectoryTopics(broker)


@contextmanager
def _connect_to_topics(bootstrap: str, command_config: Path | None, selection: TopicSelection) -> Iterator[TopicPlace]:
    from .running_topics import RunningTopics

    with connect_client(bootstrap, command_config) as client:
        place = RunningTopics(client)
        selection.check_any_topic_matches(place.topics())
        yield place


def internal_partition_counts(described: ToolOutput) -> dict[str, int]:
    """Returns the partition counts of internal topics in `described`; they place groups and transactions."""
    from ...broker.metadata.topic_rules import INTERNAL_TOPICS

    return {
        name: topic.partitions
        for name, topic in described.topics.items()
        if name in INTERNAL_TOPICS and topic.partitions is not None
    }


def read_tool_output(paths: Sequence[Path]) -> ToolOutput | None:
    """Returns the merged content of all files; None without files. Raises: CommandFailure."""
    if not paths:
        return None
    from .kafka_tool_output import NotUnderstood, ToolOutput

    output = ToolOutput()
    for path in paths:
        try:
            with path.open(encoding="utf-8") as lines:
                output.read(lines, str(path))
        except (OSError, UnicodeDecodeError) as fault:
            why = getattr(fault, "strerror", "") or str(fault)
            raise CommandFailure(f"{path} cannot be read: {why}", "", EXIT_BAD_USAGE) from fault
        except NotUnderstood as fault:
            raise CommandFailure(str(fault), "Nothing was changed.") from fault
    if not output.topics:
        raise CommandFailure(f"{', '.join(map(str, paths))}: no topic is described there", NO_TOPIC_FILE_HINT)
    return output


def adopt_all(place: TopicPlace, adoptions: Sequence[Adoption]) -> None:
    """Adopts all topics one by one. Raises: CommandFailure at the end if some failed."""
    outcomes = [place.adopt(each) for each in adoptions]
    for each, outcome in zip(adoptions, outcomes, strict=True):
        if not outcome.failed:
            typer.echo(f"{each.topic}: adopted, {_settings_text(each)}")
    raise_failed_outcomes(outcomes, HINTS)


def describe_adoption(place: TopicPlace, each: Adoption) -> str:
    """Returns a line with the new settings and the number of records that they would delete at once."""
    from .adoption import preview_deletions

    try:
        found = preview_deletions(place, each)
    except (DiskFault, ApiError) as fault:
        return f"{each.topic}: {_settings_text(each)}; what that deletes cannot be told: {fault}"
    if found is None:
        return f"{each.topic}: {_settings_text(each)}; its folders cannot be read from here, so records are not counted"
    records = plural(found.deleted_by_retention, "record")
    text = f"retention would delete {records} ({found.deleted_by_retention_bytes} bytes)"
    return f"{each.topic}: {_settings_text(each)}; {text}, compaction {found.deleted_by_compaction}"


def _settings_text(adoption: Adoption) -> str:
    given = ", ".join(f"{key}={text}" for key, text in sorted(adoption.configs.items()))
    return given or "the broker's defaults"
