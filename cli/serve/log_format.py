"""Formats the broker's log lines on stderr, for people or as JSON.

    2026-11-21T09:41:07.123Z [warning] closing 127.0.0.1:40312 (client 'raw'): …  [stepdown.network.connection]
    {"timestamp": "2026-11-21T09:41:07.123Z", "level": "warning", "logger": "stepdown.broker…", "event": "…"}

It uses plain `logging` formatters: structlog would import rich and pygments, 13 MB in a process that has 45.
"""

import json
import logging
import sys
from datetime import UTC, datetime

RESET, BOLD, DIM = "\033[0m", "\033[1m", "\033[2m"
COLOURS = {"warning": "\033[33m", "error": "\033[31m", "critical": "\033[31m"}
CONTROLS = {code: repr(chr(code))[1:-1] for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)}
"""Escapes of control characters: names from clients may contain them, and a line break would forge a log line."""


class ConsoleFormatter(logging.Formatter):
    """Formats a record as one line, with the traceback below it; in colour if stderr is a terminal."""

    def __init__(self, *, colours: bool) -> None:
        super().__init__()
        self._colours = colours

    def format(self, record: logging.LogRecord) -> str:
        level, trace = record.levelname.lower(), _format_traceback(self, record)
        message = record.getMessage().translate(CONTROLS)
        line = f"{_timestamp(record)} [{level}] {message}  [{record.name}]"
        if self._colours:
            line = (
                f"{DIM}{_timestamp(record)}{RESET} [{COLOURS.get(level, '')}{level}{RESET}] "
                f"{BOLD}{message}{RESET}  {DIM}[{record.name}]{RESET}"
            )
        return f"{line}\n{trace}" if trace else line


class JsonFormatter(logging.Formatter):
    """Formats a record as a line of JSON; `exception` has the traceback, if any."""

    def format(self, record: logging.LogRecord) -> str:
        told = {
            "timestamp": _timestamp(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        if trace := _format_traceback(self, record):
            told["exception"] = trace
        return json.dumps(told, ensure_ascii=False)


def configure_logging(log_format: str, level: str = "INFO") -> None:
    """Sends every record of `logging` to stderr: `log_format` is "console" or "json"."""
    handler = logging.StreamHandler(sys.stderr)
    is_json = log_format == "json"
    handler.setFormatter(JsonFormatter() if is_json else ConsoleFormatter(colours=sys.stderr.isatty()))
    logging.basicConfig(level=level, handlers=[handler], force=True)


def _timestamp(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _format_traceback(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    return formatter.formatException(record.exc_info) if record.exc_info else ""
