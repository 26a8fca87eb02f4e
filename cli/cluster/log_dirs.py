"""`stepdown log-dirs`: the log directories of each broker, with the bytes of the partitions in them."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...protocol.plural import plural
from ..support.bootstrap_server import LOCAL, AsJson, Bootstrap, Internal, connect_client
from ..support.client_properties import CommandConfig
from ..support.failures import raise_failures
from ..topics.hints import HINTS

if TYPE_CHECKING:
    from ..support.command_client import CommandClient

log_dirs = typer.Typer(add_completion=False, rich_markup_mode=None)


@log_dirs.command(name="log-dirs")
def log_dirs_command(
    topics: Annotated[list[str] | None, typer.Argument(metavar="[TOPIC]...", help="Only partitions of these.")] = None,
    internal: Internal = False,
    bootstrap: Bootstrap = LOCAL,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Show the log directories of all brokers, and what each partition takes there."""
    with connect_client(bootstrap, command_config) as client:
        hidden = [] if topics or internal else _list_internal_topics(client)
        found = _describe_directories(client, topics or [], hidden)
    failed = [(each["directory"], each["error"], "") for each in found if each["error"]]
    there = {row["topic"] for each in found for row in each["partitions"]}
    missing = [(topic, "UNKNOWN_TOPIC_OR_PARTITION", "") for topic in topics or [] if topic not in there]
    if not missing:
        _print(found, bool(hidden), as_json=as_json)
    raise_failures(failed or missing, HINTS)


def _print(found: list[dict[str, Any]], are_some_hidden: bool, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(found, indent=2))
    else:
        _print_directories(found, are_some_hidden)


def _list_internal_topics(client: CommandClient) -> list[str]:
    from ...client.operations.topics import describe_topics

    return [topic["name"] for topic in client.run(describe_topics()) if topic["is_internal"]]


def _describe_directories(
    client: CommandClient, topics: Collection[str], hidden: Collection[str]
) -> list[dict[str, Any]]:
    from ...client.operations.every_broker import ask_every_broker
    from ...protocol.api import ApiKey
    from ...protocol.errors import error_name
    from ...protocol.messages.describe_log_dirs import DescribeLogDirsRequest

    request = DescribeLogDirsRequest(topics=None)
    responses = client.run(ask_every_broker(ApiKey.DESCRIBE_LOG_DIRS, lambda version: request))
    return [
        {
            "broker": broker,
            "directory": result.log_dir,
            "error": error_name(result.error_code) if result.error_code else "",
            "partitions": [
                {
                    "topic": topic.name,
                    "partition": each.partition_index,
                    "size_bytes": each.partition_size,
                    "offset_lag": each.offset_lag,
                    "is_future": each.is_future_key,
                }
                for topic in sorted(result.topics, key=lambda topic: topic.name)
                if topic.name not in hidden and (not topics or topic.name in topics)
                for each in sorted(topic.partitions, key=lambda each: each.partition_index)
            ],
        }
        for broker, response in responses.items()
        for result in sorted(response.results, key=lambda result: result.log_dir)
    ]


def _print_directories(directories: list[dict[str, Any]], are_some_hidden: bool) -> None:
    from ..support.terminal_tables import print_table

    without = ", without internal topics" if are_some_hidden else ""
    for each in directories:
        partitions = each["partitions"]
        total = sum(row["size_bytes"] for row in partitions)
        counts = f"{plural(len(partitions), 'partition')}, {total} bytes{without}"
        typer.echo(f"broker {each['broker']}: {each['directory']}, {counts}")
        if partitions:
            rows = [[*list(row.values())[:-1], "future" if row["is_future"] else ""] for row in partitions]
            print_table(("topic", "partition", "bytes", "lag", ""), rows, numeric=("partition", "bytes", "lag"))
