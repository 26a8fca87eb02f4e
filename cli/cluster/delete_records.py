"""`stepdown delete-records`: raises the log start offset of partitions, which deletes the records before it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..support.bootstrap_server import LOCAL, AsJson, Bootstrap, connect_client
from ..support.client_properties import CommandConfig
from ..support.completion_values import complete_topics
from ..support.failures import EXIT_BAD_USAGE, CommandFailure, raise_failures
from .partition_requests import group_partitions_by_leader, offsets_at_time

if TYPE_CHECKING:
    from ...client.operation import TopicPartition
    from ..support.command_client import CommandClient

delete_records = typer.Typer(add_completion=False, rich_markup_mode=None)

TIMEOUT_MS = 30_000
END = "end"
HIGH_WATERMARK = -1
HINTS = {
    "POLICY_VIOLATION": "The topic's cleanup.policy has to contain delete.",
    "OFFSET_OUT_OF_RANGE": "`--before end` deletes all records of a partition, whatever its next offset is.",
}


@delete_records.command(name="delete-records")
def delete_records_command(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", autocompletion=complete_topics, show_default=False)],
    before: Annotated[
        str,
        typer.Option("--before", metavar="OFFSET|end", help="The first offset that stays; end: nothing stays."),
    ],
    partitions: Annotated[
        list[int] | None,
        typer.Option("--partition", "-p", min=0, help="Only this one; repeatable [default: all of them]."),
    ] = None,
    bootstrap: Bootstrap = LOCAL,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Delete the records of a topic that come before an offset."""
    from ...client.operations.offsets import EARLIEST

    offset = _parse_offset(before)
    with connect_client(bootstrap, command_config) as client:
        led = group_partitions_by_leader(client, [topic])
        known = {partition for found in led.values() for _, partition in found}
        wanted = {*partitions} if partitions else known
        if wanted - known:
            hint = "`stepdown topics describe` shows partitions."
            raise CommandFailure(f"topic {topic} has no partition {min(wanted - known)}", hint)
        first = offsets_at_time(client, [topic], EARLIEST)
        rows = [
            row
            for leader, found in led.items()
            for row in _delete(client, leader, [each for each in found if each[1] in wanted], offset)
        ]
        failed = [row | {"why": _explain_out_of_range(client, row)} for row in rows if row["error"]]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
    else:
        for row in rows:
            if not row["error"]:
                typer.echo(f"{topic}-{row['partition']}: {_describe_deletion(first, row)}")
    raise_failures([(f"{topic}-{row['partition']}", row["error"], row["why"]) for row in failed], HINTS)


def _describe_deletion(first: Mapping[TopicPartition, int], row: dict[str, Any]) -> str:
    """Returns which offsets were deleted. `first`: the first offset of each partition before that."""
    before, now = first[row["topic"], row["partition"]], row["start_offset"]
    deleted = f"offsets {before} to {now - 1} are deleted" if before < now else "nothing was there to delete"
    return f"{deleted}, it begins at {now}"


def _explain_out_of_range(client: CommandClient, row: dict[str, Any]) -> str:
    """Returns a sentence with the range of the partition if the error is OFFSET_OUT_OF_RANGE, else ""."""
    from ...client.operations.offsets import EARLIEST, LATEST

    if row["error"] != "OFFSET_OUT_OF_RANGE":
        return ""
    place = (row["topic"], row["partition"])
    first, end = (offsets_at_time(client, [row["topic"]], time).get(place) for time in (EARLIEST, LATEST))
    return f"its offsets go from {first} to {end}"


def _parse_offset(text: str) -> int:
    if text == END:
        return HIGH_WATERMARK
    if not (text.isascii() and text.isdigit()) or int(text) >= 1 << 63:
        hint = f"What Kafka's own tool calls -1 is --before {END} here." if text == "-1" else ""
        raise CommandFailure(f"--before: expected an offset or {END}, found {text!r}", hint, EXIT_BAD_USAGE)
    return int(text)


def _delete(client: CommandClient, leader: int, partitions: list[TopicPartition], offset: int) -> list[dict[str, Any]]:
    from ...client.operation import ask
    from ...protocol.errors import error_name
    from ...protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic

    if not partitions:
        return []
    wanted = tuple(DeleteRecordsPartition(partition_index=partition, offset=offset) for _, partition in partitions)
    topics = (DeleteRecordsTopic(name=partitions[0][0], partitions=wanted),)
    response = client.run(ask(DeleteRecordsRequest(topics=topics, timeout_ms=TIMEOUT_MS), leader))
    return [
        {
            "topic": found.name,
            "partition": each.partition_index,
            "start_offset": None if each.error_code else each.low_watermark,
            "error": error_name(each.error_code) if each.error_code else "",
        }
        for found in response.topics
        for each in found.partitions
    ]
