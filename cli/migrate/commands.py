"""`stepdown migrate`: migrates the log directories of a cluster with ZooKeeper to Kafka 4, in place."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...protocol.errors import DiskFault
from ...protocol.plural import plural
from ..support.failures import EXIT_BAD_USAGE, CommandFailure
from ..support.standard_streams import print_error

if TYPE_CHECKING:
    from ...storage.migration.directory_survey import PlannedBroker
    from ...storage.migration.migration_plan import MigrationPlan

SOURCES_HINT = "Pass one of --zookeeper HOST:PORT, --zookeeper-data DIR and --without-zookeeper."
NOTHING_CHANGED = "Nothing was changed."

migrate = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Take the disks of a cluster with ZooKeeper to Kafka 4: plan, apply, undo.",
)
PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="What `stepdown migrate plan` wrote.")]


@migrate.callback()
def migrate_commands() -> None:
    """Take the disks of a cluster with ZooKeeper to Kafka 4: plan, apply, undo."""


@migrate.command()
def plan(
    brokers: Annotated[
        list[str],
        typer.Option("--broker", metavar="ID=DIR,DIR", help="A broker and its log.dirs, in order; may be repeated."),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The plan; one that is there gets more brokers.")],
    zookeeper: Annotated[
        str | None, typer.Option("--zookeeper", metavar="HOST:PORT", help="A live ZooKeeper; /CHROOT may follow.")
    ] = None,
    zookeeper_data: Annotated[
        str | None,
        typer.Option("--zookeeper-data", metavar="DIR", help="Its dataDir at rest; with a comma the dataLogDir, too."),
    ] = None,
    without_zookeeper: Annotated[
        bool, typer.Option("--without-zookeeper", help="It is lost: go by what the disks say.")
    ] = False,
    release: Annotated[str, typer.Option("--to", metavar="3.9|4.0|4.4", help="What goes on with them.")] = "4.4",
) -> None:
    """Read everything, and write a plan for a person to read. Nothing else is written."""
    from ...storage.files.files import Files
    from ...storage.migration.plan_document import write_plan
    from ...storage.migration.release_preparation import RELEASES

    if (zookeeper, zookeeper_data, without_zookeeper or None).count(None) != 2:
        raise CommandFailure("it is not said where the metadata are", SOURCES_HINT, EXIT_BAD_USAGE)
    if release not in RELEASES:
        raise CommandFailure(f"--to: {' or '.join(RELEASES)} expected, found {release}", "", EXIT_BAD_USAGE)
    try:
        found = _survey_brokers(out, _parse_broker_directories(brokers))
        made = _make_plan(found, release, zookeeper, zookeeper_data)
        write_plan(Files(), str(out.absolute()), made)
    except DiskFault as fault:
        raise CommandFailure(str(fault), NOTHING_CHANGED) from fault
    _print_plan(made, out)


@migrate.command()
def apply(path: PlanFile) -> None:
    """Write Kafka's metadata as planned. Takes the directories of this machine; again, it does the same."""
    from ...storage.files.files import Files
    from ...storage.migration.plan_application import PlanApplication
    from ...storage.migration.plan_document import read_plan

    try:
        read = read_plan(Files(read_only=True), str(path))
        done = PlanApplication(Files(), read, print_error).apply()
    except DiskFault as fault:
        raise CommandFailure(str(fault)) from fault
    _print_properties(read, done)


@migrate.command()
def undo(path: PlanFile) -> None:
    """Take back what apply wrote here. Also after Kafka has set folders aside."""
    from ...storage.files.files import Files
    from ...storage.migration.plan_document import read_plan
    from ...storage.migration.plan_reversal import PlanReversal

    try:
        read = read_plan(Files(read_only=True), str(path))
        PlanReversal(Files(), read, typer.echo).undo()
    except DiskFault as fault:
        raise CommandFailure(str(fault)) from fault


def _parse_broker_directories(texts: Sequence[str]) -> dict[int, list[str]]:
    """Returns the directories of ID=DIR,DIR texts by broker id. Raises: CommandFailure."""
    found: dict[int, list[str]] = {}
    for text in texts:
        broker_id, equals, paths = text.partition("=")
        if not equals or not broker_id.isdecimal() or not all(paths.split(",")):
            raise CommandFailure(f"--broker: ID=DIR,DIR expected, found {text!r}", "", EXIT_BAD_USAGE)
        found.setdefault(int(broker_id), []).extend(str(Path(path).absolute()) for path in paths.split(","))
    used = [str(Path(path).resolve()) for paths in found.values() for path in paths]
    twice = sorted({path for path in used if used.count(path) > 1})
    if twice:
        raise CommandFailure(f"--broker: {twice[0]} is named twice", "", EXIT_BAD_USAGE)
    return found


def _survey_brokers(out: Path, directories: Mapping[int, Sequence[str]]) -> dict[int, PlannedBroker]:
    """Returns the brokers of `directories`, and those that the plan in `out` has from other machines.

    Raises: DiskFault, CommandFailure.
    """
    from ...storage.files.files import Files
    from ...storage.migration.directory_survey import hold_locks, survey_broker
    from ...storage.migration.plan_document import read_plan

    known: dict[int, PlannedBroker] = {}
    inside = [
        path for paths in directories.values() for path in paths if out.resolve().is_relative_to(Path(path).resolve())
    ]
    if inside:
        raise CommandFailure(f"--out: {out} is within the log directory {inside[0]}", "", EXIT_BAD_USAGE)
    if out.exists():
        before = read_plan(Files(read_only=True), str(out))
        known = {key: replace(each, cluster_id=before.cluster_id) for key, each in before.brokers.items()}
    with hold_locks(Files(), [path for paths in directories.values() for path in paths], only_existing=True):
        files = Files(read_only=True)
        found = {broker_id: survey_broker(files, broker_id, paths) for broker_id, paths in directories.items()}
    for broker_id in known.keys() & found.keys():
        before_it = known[broker_id]
        found[broker_id] = replace(
            found[broker_id], host=before_it.host, port=before_it.port, controller_port=before_it.controller_port
        )
    return dict(sorted({**known, **found}.items()))


def _make_plan(
    brokers: Mapping[int, PlannedBroker], release: str, zookeeper: str | None, zookeeper_data: str | None
) -> MigrationPlan:
    from ...storage.migration.plan_from_disks import plan_from_disks
    from ...storage.migration.plan_making import PlanMaking
    from ..support.zookeeper_reading import read_zookeeper

    now_ms = int(time.time() * 1000)
    if zookeeper is None and zookeeper_data is None:
        return plan_from_disks(brokers, release, now_ms)
    cluster_id = next((each.cluster_id for each in brokers.values() if each.cluster_id), None)
    source = read_zookeeper(zookeeper, zookeeper_data, cluster_id)
    made = PlanMaking(brokers, release, now_ms).make(source.cluster, source.name)
    made.notes += source.notes
    made.stops += source.gaps
    return made


def _print_plan(made: MigrationPlan, out: Path) -> None:
    partitions = sum(topic.partitions for topic in made.state.topics.values())
    typer.echo(
        f"{out}: {plural(len(made.state.topics), 'topic')}, {plural(partitions, 'partition')}, "
        f"{plural(len(made.state.acls), 'access rule')}, "
        f"{len(made.state.scram_credentials)} passwords, {len(made.state.client_quotas)} quotas, "
        f"{plural(len(made.brokers), 'broker')}"
    )
    for title, lines in (("lost", made.lost), ("changed", made.changes), ("note", made.notes), ("STOP", made.stops)):
        for line in lines:
            typer.echo(f"{title}: {line}")
    if made.stops:
        typer.echo("Settle each STOP, and delete its line in the plan: apply refuses before.")
    typer.echo("Read the plan, set host and ports of the brokers, then `stepdown migrate apply` it on each machine.")


def _print_properties(plan_read: MigrationPlan, brokers: Sequence[PlannedBroker]) -> None:
    """Prints the server.properties of each node on this machine."""
    from ...broker.metadata.topic_loading import SETTINGS_OF_PARTITIONS
    from ...storage.migration.server_properties import ServerNode, server_properties

    nodes = {
        broker_id: ServerNode(
            node_id=broker_id,
            directories=[directory.path for directory in each.directories],
            host=each.host,
            port=each.port,
            controller_port=each.controller_port,
        )
        for broker_id, each in plan_read.brokers.items()
    }
    topics = plan_read.state.topics
    counts = {setting: topics[name].partitions for name, setting in SETTINGS_OF_PARTITIONS.items() if name in topics}
    voters = [nodes[each] for each in plan_read.voters]
    for broker in brokers:
        node = nodes[broker.broker_id]
        typer.echo(f"# server.properties of node {node.node_id}, beside your own settings")
        lines = server_properties(
            plan_read.state,
            node,
            voters,
            counts,
            metadata_dir=node.directories[0],
            brokers=len(nodes),
            has_voters=plan_read.kraft_version > 0,
        )
        typer.echo("\n".join(lines))
