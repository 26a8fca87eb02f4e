"""What records look like."""

import pytest
from stepdown.cli.consume.record_output import NullOutput, as_text, by_format
from stepdown.protocol.records.record import Record

RECORD = Record(offset=7, timestamp=5, key=b"k", value=None, headers=(("a", b"1"), ("b", None)))
MARKS = NullOutput(key=b"-", value=b"NULL")


def test_a_format_names_the_parts_of_a_record() -> None:
    show = by_format(r"%t/%p@%o %T %k(%K)=%v(%V) [%h] 100%%\n", MARKS)
    assert show(("t", 2), RECORD) == b"t/2@7 5 k(1)=NULL(-1) [a=1,b=NULL] 100%\n"
    assert by_format("%s %S%%%%o", MARKS)(("t", 2), RECORD) == b"NULL -1%%o"


@pytest.mark.parametrize("text", ["%q", "50%", r"\q"])
def test_a_format_that_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        by_format(text, MARKS)


def test_text_is_the_value_and_the_key_where_a_separator_asks_for_it() -> None:
    assert as_text(None, b"\n", MARKS)(("t", 0), RECORD) == b"NULL\n"
    assert as_text(b": ", b"\0", MARKS)(("t", 0), RECORD) == b"k: NULL\0"
