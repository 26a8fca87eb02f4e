"""`stepdown metadata`: makes the metadata of log directories readable for Kafka."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...protocol.errors import DiskFault
from ..support.failures import EXIT_BAD_USAGE, CommandFailure
from ..support.standard_streams import print_error

if TYPE_CHECKING:
    from ...config.settings import BrokerSettings
    from ...storage.metadata.cluster_state import ClusterState
    from ...storage.metadata.metadata_store import MetadataStore
    from ...storage.migration.release_preparation import ReleasePreparation

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
    release_name: Annotated[str, typer.Option("--for", metavar="3.9|4.0|4.4", help="What goes on with them.")],
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="The server.properties that stepdown had.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")] = False,
) -> None:
    """Leave out of the metadata what Kafka of a release refuses. Prints the server.properties that it needs.

    Each change is said, on stderr; the properties are printed.
    """
    from ...storage.migration.release_preparation import RELEASES, ReleasePreparation
    from ..support.directories_at_rest import load_settings_for, open_at_rest
    from ..topics.directory_reading import DirectoryReading

    if release_name not in RELEASES:
        raise CommandFailure(f"--for: {' or '.join(RELEASES)} expected, found {release_name}", "", EXIT_BAD_USAGE)
    preparation = ReleasePreparation(release=RELEASES[release_name])
    loaded = load_settings_for(log_dirs, config)
    reading = DirectoryReading(loaded)  # opening would create partitions whose folders are elsewhere
    if dry_run:
        _prepare_state_and_print(preparation, reading.store, loaded.settings)
        print_error("nothing was changed, as --dry-run asks")
        return
    with open_at_rest(log_dirs, config, LOCKED_HINT) as broker:
        store = broker.topics.store
        store.state = _prepare_state_and_print(preparation, store, broker.settings)
        _save(store)
    print_error("the metadata were written")


def _prepare_state_and_print(
    preparation: ReleasePreparation, store: MetadataStore, settings: BrokerSettings
) -> ClusterState:
    """The state that Kafka takes; what is different, and the properties, are printed. Raises: CommandFailure."""
    from ...storage.migration.release_preparation import MetadataTooNew, describe_partitions_without_replicas

    try:
        prepared = preparation.prepare(store.state)
    except MetadataTooNew as fault:
        raise CommandFailure(str(fault), "Go on with a newer Kafka.") from fault
    for line in [*preparation.lines, *describe_partitions_without_replicas(prepared)]:
        print_error(line)
    typer.echo("\n".join(_server_properties(store, settings)))
    return prepared


def _save(store: MetadataStore) -> None:
    try:
        store.save()
    except DiskFault as fault:
        raise CommandFailure(f"the metadata are as they were: {fault}") from fault


def _server_properties(store: MetadataStore, settings: BrokerSettings) -> list[str]:
    from ...broker.metadata.topic_loading import SETTINGS_OF_PARTITIONS
    from ...storage.files.files import Files
    from ...storage.migration.server_properties import ServerNode, server_properties

    topics = store.state.topics
    counts = {
        setting: topics[name].partitions if name in topics else getattr(settings, setting.replace(".", "_"))
        for name, setting in SETTINGS_OF_PARTITIONS.items()
    }
    metadata_dir = store.log.folder.rpartition("/")[0]
    node = ServerNode(node_id=store.node_id, directories=[Files().absolute(path) for path in settings.log_dirs])
    return server_properties(store.state, node, [node], counts, metadata_dir=metadata_dir)
