"""`stepdown offsets`: the first and the next offset of partitions."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from ..support.bootstrap_server import LOCAL, AsJson, Bootstrap, connect_client
from ..support.client_properties import CommandConfig
from ..support.completion_values import complete_topics
from .partition_requests import offsets_at_time

offsets = typer.Typer(add_completion=False, rich_markup_mode=None)


@offsets.command(name="offsets")
def offsets_command(
    topics: Annotated[list[str] | None, typer.Argument(metavar="[TOPIC]...", autocompletion=complete_topics)] = None,
    bootstrap: Bootstrap = LOCAL,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Show the first offset of each partition, and the offset that its next record will have."""
    from ...client.operations.offsets import EARLIEST, LATEST
    from ...client.operations.topics import describe_topics

    with connect_client(bootstrap, command_config) as client:
        asked = topics or [each["name"] for each in client.run(describe_topics()) if not each["is_internal"]]
        first, end = offsets_at_time(client, asked, EARLIEST), offsets_at_time(client, asked, LATEST)
    rows = [
        {"topic": topic, "partition": partition, "start_offset": offset, "end_offset": end.get((topic, partition))}
        for (topic, partition), offset in sorted(first.items())
    ]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    from ..support.terminal_tables import print_table

    columns = ("topic", "partition", "earliest", "latest")
    print_table(columns, [[*row.values()] for row in rows], numeric=columns[1:])
