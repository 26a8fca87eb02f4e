"""`stepdown metadata`: has the metadata of log directories fit for Kafka."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...protocol.errors import DiskFault
from ..support.failures import EXIT_BAD_USAGE, CommandFailure

if TYPE_CHECKING:
    from ...broker.broker import Broker

LOCKED_HINT = "Stop the broker that has them open."

metadata = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Prepare the metadata of log directories for Kafka.",
)


@metadata.callback()
def metadata_commands() -> None:
    """Prepare the metadata of log directories for Kafka."""


@metadata.command()
def prepare(
    log_dirs: Annotated[list[str], typer.Argument(metavar="LOG_DIR...", help="No broker may have them open.")],
    release_name: Annotated[str, typer.Option("--for", metavar="RELEASE", help="3.9, 4.0 or 4.4.")],
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="The server.properties that stepdown had.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")] = False,
) -> None:
    """Leave out of the metadata what Kafka of a release refuses, and print the server.properties that it needs.

    Each change is said, on stderr; the properties are printed.
    """
    from ...storage.migration.release_preparation import RELEASES, Preparation, TooNew, absent_partitions
    from ..support.directories_at_rest import open_at_rest

    if release_name not in RELEASES:
        raise CommandFailure(f"--for: {' or '.join(RELEASES)} expected, found {release_name}", "", EXIT_BAD_USAGE)
    preparation = Preparation(release=RELEASES[release_name])
    with open_at_rest(log_dirs, config, LOCKED_HINT) as broker:
        store = broker.topics.store
        try:
            prepared = preparation.prepare(store.state)
        except TooNew as fault:
            raise CommandFailure(str(fault), "Go on with a newer Kafka.") from fault
        for line in [*preparation.lines, *absent_partitions(prepared)]:
            typer.echo(line, err=True)
        typer.echo("\n".join(_properties(broker)))
        if not dry_run:
            store.state = prepared
            _save(broker)


def _save(broker: Broker) -> None:
    try:
        broker.topics.store.save()
    except DiskFault as fault:
        raise CommandFailure(f"the metadata are as they were: {fault}") from fault


def _properties(broker: Broker) -> list[str]:
    from ...broker.metadata.topic_loading import SETTINGS_OF_PARTITIONS
    from ...storage.migration.server_properties import ServerNode, server_properties

    store, topics = broker.topics.store, broker.topics.store.state.topics
    counts = {
        setting: topics[name].partitions if name in topics else getattr(broker.settings, setting.replace(".", "_"))
        for name, setting in SETTINGS_OF_PARTITIONS.items()
    }
    metadata_dir = store.log.folder.rpartition("/")[0]
    node = ServerNode(node_id=store.node_id, directories=list(broker.log_manager.directories))
    return server_properties(store.state, node, [node], counts, metadata_dir=metadata_dir)
