"""What records look like."""

from dataclasses import replace

import pytest
from stepdown.cli.consume.record_output import NullOutput, format_renderer, terminal_renderer, text_renderer
from stepdown.protocol.records.layout import TimestampType
from stepdown.protocol.records.record_rows import RecordRows

ROWS = RecordRows(
    offsets=[7, 9],
    timestamps=[5, 6],
    timestamp_type=TimestampType.CREATE_TIME,
    keys=[b"k", None],
    values=[None, b"v"],
    headers=[(("a", b"1"), ("b", None)), ()],
)
MARKS = NullOutput(key=b"-", value=b"NULL")


def test_a_format_names_the_parts_of_a_record() -> None:
    show = format_renderer(r"%t/%p@%o %T %k(%K)=%v(%V) [%h] 100%%\n", MARKS)
    assert show(("t", 2), ROWS) == (b"t/2@7 5 k(1)=NULL(-1) [a=1,b=NULL] 100%\nt/2@9 6 -(-1)=v(1) [] 100%\n")
    assert format_renderer("%s %S%%%%o", MARKS)(("t", 2), ROWS.first(1)) == b"NULL -1%%o"


@pytest.mark.parametrize("text", ["%q", "50%", r"\q"])
def test_a_format_that_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        format_renderer(text, MARKS)


def test_text_is_the_value_and_the_key_where_a_separator_asks_for_it() -> None:
    assert text_renderer(None, b"\n", MARKS)(("t", 0), ROWS) == b"NULL\nv\n"
    assert text_renderer(b": ", b"\0", MARKS)(("t", 0), ROWS) == b"k: NULL\0-: v\0"


def test_a_terminal_is_shown_nothing_that_it_obeys() -> None:
    """A record with an escape sequence in it changed the terminal of whoever looked."""
    rows = replace(ROWS, values=["é\033[2J\t".encode(), b"\xff"])
    assert terminal_renderer(text_renderer(None, b"\n", MARKS))(("t", 0), rows) == "é\\x1b[2J\t\n\\xff\n".encode()
