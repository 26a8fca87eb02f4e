"""`stepdown serve`: the command line of the broker."""

from __future__ import annotations

import argparse
import gc
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from ...config import BROKER_KEYS, Given, Origin
from ...config.keys.endpoints import parse_host_port
from ...config.sources.command_parser import CommandParser
from ...config.tables.stepdown import RELEASES
from .logging_options import add_logging_options

DESCRIPTION = """Serve log directories until SIGTERM or SIGINT.

Options win over environment variables (KAFKA_LOG_DIRS for log.dirs), and those over the file. `stepdown config`
lists every setting."""

MOST_BROKERS = 100
SECURITY_DIR = Path("stepdown-security")


def main(arguments: Sequence[str]) -> int:
    """Runs the broker until it stops, and returns the exit code.

    Raises: SystemExit for --help and bad usage, ConfigError, OSError, DiskFault.
    """
    given = make_parser().parse_args(arguments)
    gc.disable()  # until the broker is ready: imports and loading make no garbage
    with ExitStack() as stack:
        settings: list[str] = []
        if given.temporary:
            from .temporary_process import FREE, SETTINGS, remove_certificates, temporary_directory

            given.listen, given.http, given.control = (
                each or FREE for each in (given.listen, given.http, given.control)
            )
            given.log_dir = given.log_dir or [stack.enter_context(temporary_directory())]
            settings = SETTINGS
            if given.security_dir or given.tls or given.user:
                stack.callback(remove_certificates, given.security_dir or SECURITY_DIR)
        return _serve_by_arguments(given, settings)


def _serve_by_arguments(given: argparse.Namespace, settings: Sequence[str]) -> int:
    """Runs the broker and returns the exit code. `settings`: defaults that the command line overrides."""
    from .broker_process import BrokerOptions, serve

    rack = [Given("broker.rack", name, Origin("option --racks")) for name in given.racks[:1] if given.brokers == 1]
    secured: list[Given] = []
    make_files: Callable[[], object] | None = None
    if given.tls or given.user:
        from .security_for_tests import make_security_files, security_settings

        wanted = (given.listen or "127.0.0.1:9092", given.security_dir or SECURITY_DIR, given.user)
        secured = security_settings(*wanted, tls=given.tls)
        make_files = partial(make_security_files, *wanted, tls=given.tls)
    options = BrokerOptions(
        properties=given.properties,
        flags=[
            *settings_of_flags(given.listen, given.log_dir, given.http, given.control, given.act_as),
            *rack,
            *secured,
        ],
        overrides=[*settings, *given.override],
        brokers=given.brokers,
        log_format=given.log_format,
        log_level=given.log_level.upper(),
        users=given.user,
        racks=given.racks,
        is_temporary=given.temporary,
        make_files=make_files,
    )
    return serve(options)


def settings_of_flags(listen: str, log_dirs: list[str], http: str, control: str = "", act_as: str = "") -> list[Given]:
    """Returns the settings that --listen, --log-dir, --http, --control and --act-as stand for."""
    flags = []
    if listen:
        flags.append(Given("listeners", f"PLAINTEXT://{listen}", Origin("option --listen")))
        flags.append(Given("advertised.listeners", "", Origin("option --listen")))
    if log_dirs:
        flags.append(Given("log.dirs", ",".join(log_dirs), Origin("option --log-dir")))
    if http:
        flags.append(Given("stepdown.http.listen", http, Origin("option --http")))
    if control:
        flags.append(Given("stepdown.control.listen", control, Origin("option --control")))
    if act_as:
        flags.append(Given("stepdown.act.as", act_as, Origin("option --act-as")))
    return flags


def make_parser() -> CommandParser:
    """Returns the parser of the command line."""
    parser = CommandParser(
        "stepdown serve",
        DESCRIPTION,
        "stepdown serve --listen 127.0.0.1:9092 --log-dir ./data --http 127.0.0.1:9464",
        {f"--{key.replace('.', '-')}": f"{key} has no option of its own: -c {key}=VALUE" for key in BROKER_KEYS}
        | dict.fromkeys(("--port", "-p", "--host", "--bootstrap-server", "-b"), "its address is --listen HOST:PORT")
        | {"--log-dirs": "did you mean --log-dir? It may be repeated."}
        | {"--workers": "a broker is one process; --brokers N makes a cluster of N"},
    )
    option = parser.add_argument
    option("properties", type=Path, nargs="?", metavar="SERVER.PROPERTIES", help="Kafka's settings.")
    option(
        "--listen",
        type=_check_address,
        default="",
        metavar="HOST:PORT",
        help="Address to listen on; port 0 picks one [default: port 9092 of every address].",
    )
    option(
        "--log-dir",
        type=_parse_log_dir,
        action="append",
        default=[],
        metavar="DIR",
        help="Log directory; may be repeated [default: /tmp/kafka-logs, as Kafka's].",
    )
    option(
        "--http",
        default="",
        metavar="HOST:PORT",
        help="Address of the page, /metrics, /healthz and /readyz [default: a free port of 127.0.0.1].",
    )
    option(
        *("--override", "--config", "-o", "-c"),
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="A setting; may be repeated.",
    )
    add_logging_options(parser)
    _add_test_options(parser)
    return parser


def _add_test_options(parser: CommandParser) -> None:
    option = parser.add_argument_group("for tests").add_argument
    option("--control", default="", metavar="HOST:PORT", help="Address of the control port [default: none].")
    option("--act-as", default="", metavar="|".join(RELEASES), help="The release of Kafka to act as.")
    option(
        "--brokers",
        type=_parse_broker_count,
        default=1,
        metavar="N",
        help="Brokers of a cluster in this process [default: %(default)s].",
    )
    option("--racks", type=_parse_rack_names, default=(), metavar="A,B,…", help="Racks of those brokers, in turn.")
    option(
        "--temporary",
        action="store_true",
        help="Free ports, an end with the pipe at standard input; logs and certificates are removed then.",
    )
    option("--tls", action="store_true", help="Listen with TLS, with new certificates.")
    option(
        "--user", type=_parse_user, action="append", default=[], metavar="NAME:PASSWORD", help="A user who may log in."
    )
    option(
        "--security-dir",
        type=Path,
        metavar="DIR",
        help=f"Where --tls and --user write certificates and client.properties [default: {SECURITY_DIR}].",
    )


def _parse_broker_count(text: str) -> int:
    """Returns the number of brokers. Raises: ArgumentTypeError."""
    if not text.isdecimal() or not 1 <= int(text) <= MOST_BROKERS:
        raise argparse.ArgumentTypeError(f"a number from 1 to {MOST_BROKERS} expected, found {text!r}")
    return int(text)


def _parse_rack_names(text: str) -> tuple[str, ...]:
    """Returns the names of racks."""
    names = tuple(text.split(","))
    if not all(names):
        raise argparse.ArgumentTypeError(f"names with commas between them expected, found {text!r}")
    return names


def _check_address(text: str) -> str:
    """Returns the HOST:PORT if it can be a listener; "" stands for the default."""
    try:
        parse_host_port(text.partition(",")[0] or ":0")
    except ValueError as fault:
        raise argparse.ArgumentTypeError(f"expected {fault}, found {text!r}") from fault
    return text


def _parse_log_dir(path: str) -> str:
    """Returns the path if it can be in log.dirs."""
    if "," in path:
        raise argparse.ArgumentTypeError(
            f"{path!r} has a comma, at which log.dirs would end it; repeat --log-dir for each directory"
        )
    return path


def _parse_user(text: str) -> tuple[str, str]:
    """Returns user and password; error messages do not show the text."""
    name, colon, password = text.partition(":")
    if not (name and colon and password and name.isascii() and name.isprintable() and not set(name) & set(' ="\\;,')):
        raise argparse.ArgumentTypeError("expected NAME:PASSWORD")
    return name, password
