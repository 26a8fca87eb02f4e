import pytest
from stepdown.cli.support.escape_sequences import unescape


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
