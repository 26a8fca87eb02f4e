"""Prints the outcome of a change for each changed name."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import typer

from ...protocol.plural import plural
from .escape_sequences import escape_control_characters
from .failures import raise_failures

if TYPE_CHECKING:
    from ...client.operations.outcome import Outcome


def print_outcomes(
    outcomes: Sequence[Outcome],
    done: str,
    hints: Mapping[str, str],
    *,
    as_json: bool,
    kind: str = "name",
    accepted: Collection[str] = (),
) -> None:
    """Prints "NAME: `done`" for each success, or JSON with `kind` as the key of the name. Exits with 1 on failures.

    Error codes in `accepted`, such as TOPIC_ALREADY_EXISTS, are no failures: they are shown as "is there already".
    """
    failed = [each for each in outcomes if each.failed and each.error not in accepted]
    if as_json:
        shown = [{kind: each.name, "error": each.error, "message": each.message} for each in outcomes]
        typer.echo(json.dumps(shown, indent=2))
    else:
        for each in outcomes:
            if each not in failed:
                told = "is there already" if each.failed else f"{done}{_describe_partitions(each)}"
                typer.echo(f"{escape_control_characters(each.name)}: {told}")
    raise_failed_outcomes(failed, hints)


def raise_failed_outcomes(outcomes: Sequence[Outcome], hints: Mapping[str, str]) -> None:
    """Raises CommandFailure if one of them failed. `hints`: the next step by error code."""
    raise_failures([(each.name, each.error, each.message) for each in outcomes if each.failed], hints)


def _describe_partitions(outcome: Outcome) -> str:
    return "" if outcome.partitions is None else f", {plural(outcome.partitions, 'partition')}"
