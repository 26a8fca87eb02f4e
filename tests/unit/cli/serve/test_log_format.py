"""Log lines on stderr."""

import json
import logging
import sys

import pytest
from stepdown.cli.serve.log_format import ConsoleFormatter, JsonFormatter


def failed() -> logging.LogRecord:
    try:
        raise ValueError("torn")
    except ValueError:
        record = logging.LogRecord("stepdown.x", logging.ERROR, "x.py", 1, "%s broke", ("it",), sys.exc_info())
    record.created = 1_700_000_000.25
    return record


def test_a_line_tells_when_how_bad_what_and_who() -> None:
    line = ConsoleFormatter(colours=False).format(failed()).splitlines()[0]
    assert line == "2023-11-14T22:13:20.250Z [error] it broke  [stepdown.x]"


def test_a_trace_follows_its_line() -> None:
    assert ConsoleFormatter(colours=False).format(failed()).endswith("\nValueError: torn")


def test_a_message_is_one_line_whatever_a_client_calls_itself() -> None:
    """A topic's name with a line break could write any line into the log, with escapes even to the terminal."""
    record = logging.LogRecord("x", logging.INFO, "x.py", 1, "denied %s", ("a\n2026 [info] b\x1b[2J\x9b\u2028ü",), None)
    for colours in (False, True):
        line = ConsoleFormatter(colours=colours).format(record)
        assert r"denied a\n2026 [info] b\x1b[2J\x9b\u2028ü" in line
        assert len(line.splitlines()) == 1


def test_colours_are_only_for_terminals() -> None:
    assert "\033[31merror\033[0m" in ConsoleFormatter(colours=True).format(failed())


def test_json_is_one_object_a_line() -> None:
    text = JsonFormatter().format(failed())
    told = json.loads(text)
    assert "\n" not in text
    assert told.pop("exception").endswith("ValueError: torn")
    assert told == {
        "timestamp": "2023-11-14T22:13:20.250Z",
        "level": "error",
        "logger": "stepdown.x",
        "event": "it broke",
    }


@pytest.mark.parametrize("message", ["two\nlines", 'a "quote"', "ünï"])
def test_json_survives_any_text(message: str) -> None:
    record = logging.LogRecord("x", logging.INFO, "x.py", 1, message, None, None)
    assert json.loads(JsonFormatter().format(record))["event"] == message
