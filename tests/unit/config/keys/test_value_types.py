import pytest
from stepdown.config.keys.value_types import Value, ValueType, parse, render


@pytest.mark.parametrize("text", ["true", "TRUE", " True\t"])
def test_booleans_do_not_mind_their_case(text: str) -> None:
    assert parse(ValueType.BOOLEAN, text) is True


@pytest.mark.parametrize("text", ["yes", "1", "", "tru e"])
def test_nothing_but_true_and_false_is_a_boolean(text: str) -> None:
    with pytest.raises(ValueError, match="neither"):
        parse(ValueType.BOOLEAN, text)


@pytest.mark.parametrize(
    ("text", "items"),
    [("a,b", ("a", "b")), (" a , b ", ("a", "b")), ("", ()), ("  ", ()), ("a,,b", ("a", "", "b")), ("a,", ("a", ""))],
)
def test_lists_drop_blanks_around_commas_and_keep_empty_items(text: str, items: tuple[str, ...]) -> None:
    assert parse(ValueType.LIST, text) == items


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [
        (ValueType.SHORT, -(2**15), 2**15 - 1),
        (ValueType.INT, -(2**31), 2**31 - 1),
        (ValueType.LONG, -(2**63), 2**63 - 1),
    ],
    ids=["short", "int", "long"],
)
def test_integers_fit_their_width(kind: ValueType, low: int, high: int) -> None:
    assert parse(kind, str(low)) == low
    assert parse(kind, f" +{high} ") == high
    for number in (low - 1, high + 1):
        with pytest.raises(ValueError, match="bits"):
            parse(kind, str(number))


@pytest.mark.parametrize("text", ["1_000", "1.0", "0x10", "", "٣", "1 0", "9" * 5000])
def test_what_java_does_not_take_for_an_integer_is_none_here(text: str) -> None:
    with pytest.raises(ValueError, match=r"not an integer"):
        parse(ValueType.INT, text)


@pytest.mark.parametrize(("text", "number"), [("0.5", 0.5), ("1e3", 1000.0), ("2d", 2.0), (".5f", 0.5), ("1.", 1.0)])
def test_numbers_are_written_as_in_java(text: str, number: float) -> None:
    assert parse(ValueType.DOUBLE, text) == number


@pytest.mark.parametrize("text", ["", "inf", "1_0.0", "nan", "e3"])
def test_what_java_does_not_take_for_a_number_is_none_here(text: str) -> None:
    with pytest.raises(ValueError, match="not a number"):
        parse(ValueType.DOUBLE, text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (("a", "b"), "a,b"),
        ((), ""),
        (None, None),
        (-1, "-1"),
        (0.5, "0.5"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (1e7, "1.0E7"),
        (12345678.5, "1.23456785E7"),
        (0.0001, "1.0E-4"),
        (9999999.0, "9999999.0"),
    ],
)
def test_values_are_shown_as_java_shows_them(value: Value | None, text: str | None) -> None:
    assert render(value) == text
