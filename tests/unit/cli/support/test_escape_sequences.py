import pytest
from hypothesis import given
from hypothesis import strategies as st
from stepdown.cli.support.escape_sequences import escape, unescape


@pytest.mark.parametrize(
    ("text", "meant"),
    [("\\t", b"\t"), (r"a\n\r\0\\b", b"a\n\r\0\\b"), (r"\xff\x00", b"\xff\x00"), ("", b""), ("ä", "ä".encode())],
)
def test_escapes_stand_for_bytes(text: str, meant: bytes) -> None:
    assert unescape(text) == meant


@pytest.mark.parametrize("text", [r"\q", "\\", r"\x1"])
def test_an_escape_that_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        unescape(text)


@given(data=st.binary(max_size=8))
def test_an_escaped_text_is_printable(data: bytes) -> None:
    assert escape(data).isprintable()


def test_bytes_are_shown_without_the_signs_of_a_language() -> None:
    """A message had b'::'."""
    assert (escape(b"::"), escape(b"\t\0"), escape("\u2028".encode())) == ('"::"', '"\\t\\0"', '"\\xe2\\x80\\xa8"')
