"""Parameters are bounded, and what cannot be read is told."""

import pytest
from stepdown.network.page.page_query import PageQuery, QueryFault


def test_values_are_decoded() -> None:
    query = PageQuery("topic=a%26b&offset=12&empty=")
    assert (query.text("topic"), query.number("offset", 0), query.text("empty"), query.text("absent")) == (
        "a&b", 12, "", "",
    )  # fmt: skip


@pytest.mark.parametrize("text", ["%FF=1", "&".join(f"a{number}=1" for number in range(99))])
def test_what_is_no_query_is_refused(text: str) -> None:
    with pytest.raises(QueryFault):
        PageQuery(text)


@pytest.mark.parametrize("value", ["0", "201", "x", "1e3", "-1", "٣", "9" * 5000, "1.5"])
def test_a_limit_is_a_number_of_its_range(value: str) -> None:
    with pytest.raises(QueryFault, match="from 1 to 200"):
        _ = PageQuery(f"limit={value}").limit


def test_what_is_missing_is_named() -> None:
    with pytest.raises(QueryFault, match="topic is missing"):
        PageQuery("").need("topic")


@pytest.mark.parametrize(
    ("known", "told"),
    [
        (["limit", "after"], "no parameter 'limt'; did you mean limit?"),
        (["topic"], "no parameter 'limt'; there is topic"),
        ([], "there are none"),
    ],
)
def test_an_unknown_parameter_is_refused(known: list[str], told: str) -> None:
    """A mistyped one counted for nothing, without a word."""
    with pytest.raises(QueryFault) as refused:
        PageQuery("limt=3").refuse_unknown(known)
    assert told in str(refused.value)


def test_a_flag_is_true_or_false() -> None:
    """`internal=yes` was no, without a word."""
    assert (PageQuery("a=true").flag("a"), PageQuery("a=false").flag("a"), PageQuery("").flag("a")) == (
        True,
        False,
        False,
    )
    with pytest.raises(QueryFault, match="a is true or false"):
        PageQuery("a=yes").flag("a")
