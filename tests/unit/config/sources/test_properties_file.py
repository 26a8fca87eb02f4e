"""Cases of java.util.Properties.load, as its documentation describes it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stepdown.config.sources.properties_file import MalformedProperties, Property, decode, parse_properties


def pairs(text: str) -> list[tuple[str, str]]:
    return [(found.key, found.value) for found in parse_properties(text)]


@pytest.mark.parametrize("line", ["a=1", "a:1", "a 1", "a = 1", "  a\t:  1", "a\f1"])
def test_a_key_ends_at_an_equals_sign_a_colon_or_a_blank(line: str) -> None:
    assert pairs(line) == [("a", "1")]


def test_only_one_separator_is_dropped() -> None:
    assert pairs("a==1\nb = =2\nc : = 3") == [("a", "=1"), ("b", "=2"), ("c", "= 3")]


def test_blanks_at_the_end_of_a_value_are_kept() -> None:
    assert pairs("a = 1  \nb=2") == [("a", "1  "), ("b", "2")]


def test_comments_and_blank_lines_are_passed_over() -> None:
    assert pairs("# a=1\n\n  ! b=2 \\\nc=3\n   \n") == [("c", "3")]


def test_a_hash_inside_a_value_is_no_comment() -> None:
    assert pairs("a=1 # one") == [("a", "1 # one")]


def test_a_backslash_at_the_end_goes_on_in_the_next_line_without_its_blanks() -> None:
    assert pairs("log.dirs=/a,\\\n    /b,\\\r\n\t/c") == [("log.dirs", "/a,/b,/c")]


def test_two_backslashes_at_the_end_are_one_and_end_the_line() -> None:
    assert pairs("a=x\\\\\nb=2") == [("a", "x\\"), ("b", "2")]


def test_a_comment_sign_in_a_continued_line_is_part_of_the_value() -> None:
    assert pairs("a=1,\\\n#2") == [("a", "1,#2")]


def test_a_backslash_at_the_end_of_the_file_disappears() -> None:
    assert pairs("a=1\\") == [("a", "1")]


def test_separators_can_be_escaped_in_a_key() -> None:
    assert pairs(r"a\=b\:c\ d=1") == [("a=b:c d", "1")]


def test_escapes_stand_for_characters_and_a_needless_backslash_disappears() -> None:
    assert pairs(r"a=\t\n\r\f\q\\\u0041\ud83d\ude00") == [("a", "\t\n\r\fq\\A\U0001f600")]


def test_a_key_without_a_value_has_the_empty_one() -> None:
    assert pairs("a\nb=\n c :") == [("a", ""), ("b", ""), ("c", "")]


def test_lines_are_counted_from_one_and_a_continued_one_counts_where_it_begins() -> None:
    found = parse_properties("# first\r\na=1\r\rb=2,\\\n3\nc=4")
    assert found == [Property("a", "1", 2), Property("b", "2,3", 4), Property("c", "4", 6)]


@pytest.mark.parametrize("escape", [r"\u12", r"\uzzzz", r"\u", r"\u 123"])
def test_a_broken_unicode_escape_is_refused_with_its_line(escape: str) -> None:
    with pytest.raises(MalformedProperties) as refused:
        parse_properties(f"a=1\nb={escape}")
    assert (refused.value.line, refused.value.key) == (2, "b")


def test_a_file_is_utf_8_or_else_latin_1() -> None:
    assert decode("a=é".encode()) == decode("a=é".encode("latin-1")) == decode("\ufeffa=é".encode()) == "a=é"


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = parse_properties(text)
    except MalformedProperties:
        return
    assert all(1 <= entry.line <= text.count("\n") + text.count("\r") + 1 for entry in found)


@given(st.dictionaries(st.text(st.characters(codec="utf-8"), min_size=1), st.text(st.characters(codec="utf-8"))))
def test_what_is_escaped_as_java_stores_it_comes_back(expected: dict[str, str]) -> None:
    def escaped(text: str) -> str:
        units = text.encode("utf-16-be")
        return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))

    text = "\n".join(f"{escaped(key)}={escaped(value)}" for key, value in expected.items())
    assert dict(pairs(text)) == expected
