"""`stepdown faults` arms and lists faults, `stepdown clock` moves the time, of a broker with a control port."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...protocol.plural import plural
from ..support.bootstrap_server import AsJson, parse_http_address
from ..support.failures import EXIT_BAD_USAGE, CommandFailure

if TYPE_CHECKING:
    from ...testing.control_client import Answer

faults = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Inject faults into a broker, for tests. It needs `stepdown serve --control 127.0.0.1:9100`.",
)
clock = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Stop and move the clock of a broker with a control port.",
)

Control = Annotated[
    str,
    typer.Option(
        "--control", "-c", envvar="STEPDOWN_CONTROL", metavar="HOST:PORT", help="Address of the control port."
    ),
]
Token = Annotated[
    str, typer.Option("--token", envvar="STEPDOWN_CONTROL_TOKEN", help="Token of the control port, if it has one.")
]
Number = Annotated[int, typer.Argument(metavar="ID", show_default=False)]
Fields = Annotated[list[str] | None, typer.Argument(metavar="[FIELD=VALUE]...", show_default=False)]
LOCAL = "127.0.0.1:9100"


def _complete_kinds(incomplete: str) -> list[str]:
    from ...broker.faults.kinds import KINDS

    return [kind for kind in KINDS if kind.startswith(incomplete)]


@faults.command()
def arm(
    kind: Annotated[str, typer.Argument(metavar="KIND", autocompletion=_complete_kinds, show_default=False)],
    fields: Fields = None,
    control: Control = LOCAL,
    token: Token = "",
) -> None:
    """Arm a fault. Such as: error api=Produce code=NOT_LEADER_OR_FOLLOWER times=3. See `stepdown faults kinds`."""
    _print_json(_ask_control_port(control, token, "POST", "faults", {"kind": kind, **parse_fields(fields or ())}))


@faults.command()
def kinds(as_json: AsJson = False) -> None:
    """List the kinds of faults and their fields."""
    from dataclasses import fields

    from ...broker.faults.fault import Fault
    from ...broker.faults.fault_fields import own_field_names
    from ...broker.faults.kinds import KINDS

    common = [each.name for each in fields(Fault)]
    rows = [
        {"kind": name, "fields": [*own_field_names(kind)], "does": (kind.__doc__ or "").strip()}
        for name, kind in KINDS.items()
    ]
    if as_json:
        typer.echo(json.dumps({"kinds": rows, "common_fields": common}, indent=2))
        return
    for row in rows:
        own = ", ".join(row["fields"])
        typer.echo(f"{row['kind']}{f' ({own})' if own else ''}: {row['does']}")
    typer.echo(f"All have: {', '.join(common)}.")


@faults.command(name="list")
def list_command(control: Control = LOCAL, token: Token = "", as_json: AsJson = False) -> None:
    """List armed faults, and how often each has fired."""
    found = _ask_control_port(control, token, "GET", "faults")["faults"]
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    for each in found:
        typer.echo(f"{each['id']}  {each['state']}  {plural(each['hits'], 'hit')}  {json.dumps(each['fault'])}")


@faults.command()
def wait(
    number: Number,
    hits: Annotated[int, typer.Option(min=1, help="How many times it has to fire.")] = 1,
    timeout: Annotated[str, typer.Option(metavar="TIME", help="Longest wait, such as 10s.")] = "10s",
    control: Control = LOCAL,
    token: Token = "",
) -> None:
    """Wait until a fault has fired."""
    found = _ask_control_port(control, token, "POST", f"faults/{number}/wait", {"hits": hits, "timeout": timeout})
    if found["hits"] < hits:
        raise CommandFailure(f"fault {number} has fired {plural(found['hits'], 'time')} in {timeout}, not {hits}")
    _print_json(found)


@faults.command()
def release(number: Number, control: Control = LOCAL, token: Token = "") -> None:
    """Release the requests that a fault of kind hold holds."""
    _print_json(_ask_control_port(control, token, "POST", f"faults/{number}/release"))


@faults.command()
def remove(number: Number, control: Control = LOCAL, token: Token = "") -> None:
    """Disarm a fault."""
    _print_json(_ask_control_port(control, token, "DELETE", f"faults/{number}"))


@faults.command()
def reset(control: Control = LOCAL, token: Token = "") -> None:
    """Disarm all faults. Exit code 1 if one never fired and is not optional."""
    unfired = _ask_control_port(control, token, "POST", "faults/reset")["unfired"]
    if unfired:
        raise CommandFailure(
            "never fired: " + "; ".join(f"{json.dumps(each['fault'])}, {each['near']}" for each in unfired)
        )


@faults.command()
def requests(control: Control = LOCAL, token: Token = "", as_json: AsJson = False) -> None:
    """Print the event log: requests, faults, changes of the clock."""
    found = _ask_control_port(control, token, "GET", "events")["events"]
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    for each in found:
        typer.echo(f"{each['at_ms']}  {each['line']}")


@faults.command(name="do")
def do_command(
    action: Annotated[str, typer.Argument(metavar="ACTION", show_default=False)],
    fields: Fields = None,
    control: Control = LOCAL,
    token: Token = "",
) -> None:
    """Cause a fault at once. Such as: segments/corrupt topic=orders, or markers/hold."""
    _print_json(_ask_control_port(control, token, "POST", action, parse_fields(fields or ())))


@clock.command(name="pause")
def pause_clock(control: Control = LOCAL, token: Token = "") -> None:
    """Stop the clock."""
    _print_json(_ask_control_port(control, token, "POST", "clock/pause"))


@clock.command()
def advance(
    by: Annotated[list[str], typer.Argument(metavar="TIME...", show_default=False)],
    control: Control = LOCAL,
    token: Token = "",
) -> None:
    """Advance the clock, e.g. by 45s or by 1h 30m."""
    _print_json(_ask_control_port(control, token, "POST", "clock/advance", {"by": " ".join(by)}))


@clock.command()
def resume(control: Control = LOCAL, token: Token = "") -> None:
    """Start the clock again."""
    _print_json(_ask_control_port(control, token, "POST", "clock/resume"))


def parse_fields(texts: Sequence[str]) -> dict[str, Any]:
    """Returns the fields of `name=value` texts. A value is parsed as JSON, or else is a text."""
    fields = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise CommandFailure(f"expected FIELD=VALUE, found {text!r}", "", EXIT_BAD_USAGE)
        try:
            fields[name] = json.loads(value)
        except ValueError:
            fields[name] = value
    return fields


def _ask_control_port(control: str, token: str, method: str, path: str, body: dict[str, Any] | None = None) -> Answer:
    from ...client.errors import describe_connect_fault
    from ...testing.control_client import ControlFailed, HttpControl

    address = str(parse_http_address(control, "--control"))
    try:
        return asyncio.run(HttpControl(address, token).ask(method, path, body))
    except ControlFailed as fault:
        raise CommandFailure(str(fault)) from fault
    except OSError as fault:
        hint = "Start a broker with `stepdown serve --control HOST:PORT`, or name its port with --control."
        raise CommandFailure(f"no control port answers at {control}: {describe_connect_fault(fault)}", hint) from fault


def _print_json(answer: Answer) -> None:
    typer.echo(json.dumps(answer))
