"""`stepdown cluster`: shows the brokers of a cluster, from a Metadata response."""

from __future__ import annotations

import json

import typer

from ..support.bootstrap_server import LOCAL, AsJson, Bootstrap, connect_client
from ..support.client_properties import CommandConfig

cluster = typer.Typer(add_completion=False, rich_markup_mode=None)


@cluster.command()
def cluster_command(
    bootstrap: Bootstrap = LOCAL, command_config: CommandConfig = None, as_json: AsJson = False
) -> None:
    """Show the cluster's id, its controller and its brokers."""
    from ...client.operation import ask
    from ...client.operations.topics import make_metadata_request

    with connect_client(bootstrap, command_config) as client:
        found = client.run(ask(make_metadata_request([])))
    brokers = [
        {"id": each.node_id, "host": each.host, "port": each.port, "rack": each.rack}
        for each in sorted(found.brokers, key=lambda each: each.node_id)
    ]
    if as_json:
        shown = {"cluster_id": found.cluster_id, "controller_id": found.controller_id, "brokers": brokers}
        typer.echo(json.dumps(shown, indent=2))
        return
    from ..support.terminal_tables import print_table

    typer.echo(f"cluster {found.cluster_id or 'without an id'}, controller {found.controller_id}\n")
    rows = [["-" if cell is None else cell for cell in each.values()] for each in brokers]
    print_table(("broker", "host", "port", "rack"), rows, numeric=("broker", "port"))
