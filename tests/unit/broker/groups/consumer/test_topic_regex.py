"""Expressions over topic names; Python's own engine is the oracle where both know the syntax."""

import re
from threading import current_thread, main_thread

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stepdown.broker.groups.consumer import topic_regex
from stepdown.broker.groups.consumer.topic_regex import compile_pattern
from stepdown.protocol.api import ApiKey
from stepdown.protocol.errors import ApiError, ErrorCode
from stepdown.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from support.asking import ask, frame_of
from support.running import running_broker

NAMES = ["", "a", "ab", "abc", "b", "orders", "orders.eu", "orders-1", "ORDERS", "a.b", "aaa", "1", "a1_", "[", "a]"]
PATTERNS = [
    ".*",
    "orders.*",
    "^orders(\\.eu|-\\d+)?$",
    "a|b|abc",
    "a*b?c+",
    "(ab)+c?",
    "[a-c]+",
    "[^a-c]*",
    "a{3}",
    "a{2,}",
    "a{0,1}b",
    "(?:a|b){1,2}",
    "(?P<x>a)b",
    "\\w+",
    "\\D+",
    "a.b",
    "a\\.b",
    "",
    "()",
    "[]]",
    "[\\[a]",
    "[a-]+",
    "a*?b",
    "(a*)*b",
    "\\Aab",
    "^^a$$",
    "(a|ab)(c|bcd)?",
    "[\\w.]+",
    "a{0}b",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_an_expression_matches_what_it_describes(pattern):
    ours, theirs = compile_pattern(pattern), re.compile(pattern)
    assert [name for name in NAMES if ours.matches(name)] == [name for name in NAMES if theirs.fullmatch(name)]


@pytest.mark.parametrize(
    "pattern",
    ["(", ")", "a)", "[a", "*", "a{2,1}", "\\", "\\1", "(?=a)", "[b-a]", "a{2}{3}", "a**"],
)
def test_what_is_no_expression_is_refused(pattern):
    with pytest.raises(ApiError) as refusal:
        compile_pattern(pattern)
    assert refusal.value.code == ErrorCode.INVALID_REGULAR_EXPRESSION


def test_what_was_matched_before_is_known():
    pattern = compile_pattern("a.*")
    assert not pattern.has_matches_of(["ab", "b"])
    pattern.cache_matches(["ab", "b"])
    assert pattern.has_matches_of(["ab", "b"]) and (pattern.matches("ab"), pattern.matches("b")) == (True, False)
    pattern.cache_matches(["c"])
    assert not pattern.has_matches_of(["ab"])


def test_an_expression_that_takes_too_long_is_refused(monkeypatch):
    monkeypatch.setattr(topic_regex, "MAX_LEARN_S", 0.0)
    with pytest.raises(ApiError, match="takes more than 0 s") as refusal:
        compile_pattern("too (slow|late)").cache_matches(["a", "b"])
    assert refusal.value.code == ErrorCode.INVALID_REGULAR_EXPRESSION


@pytest.mark.parametrize("text", ["(?i)orders", "\\bword\\b", "\\p{L}+", "[[:alpha:]]+"])
def test_what_re2_knows_beyond_pythons_syntax_is_taken(text):
    assert compile_pattern(text) is compile_pattern(text)


@pytest.mark.parametrize("pattern", ["a" * 1001, "(.*[a-m].{400}){2}", "((a{30}){30}){30}", "\\pL|" * 5])
def test_an_expression_that_would_be_too_large_is_refused(pattern):
    with pytest.raises(ApiError) as refusal:
        compile_pattern(pattern)
    assert refusal.value.code == ErrorCode.INVALID_REGULAR_EXPRESSION


def test_an_expression_that_makes_others_backtrack_for_years_takes_no_time():
    evil = compile_pattern("(a*)*(a|aa)+b")
    assert not evil.matches("a" * 249)
    assert evil.matches("a" * 248 + "b")


PIECES = st.recursive(
    st.sampled_from(["a", "b", ".", "[ab]", "[^a]", "\\w", "^", "$"]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map("(?:{0[0]}|{0[1]})".format),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,}", "{0,2}"])).map("(?:{0[0]}){0[1]}".format),
    ),
    max_leaves=8,
)


@given(pattern=PIECES, name=st.text("abc.", max_size=8))
def test_any_expression_means_what_it_means_elsewhere(pattern, name):
    assert compile_pattern(pattern).matches(name) == bool(re.fullmatch(pattern, name))


def test_no_expression_finds_an_internal_topic():
    """Kafka 4.4 leaves them out; they were consumed with the topics that an expression was meant for."""
    pattern = compile_pattern(".*")
    names = ("__consumer_offsets", "__transaction_state", "__other", "t")
    assert [name for name in names if pattern.matches(name)] == ["__other", "t"]


async def test_a_worker_compiles_what_members_subscribe_by(tmp_path, monkeypatch):
    """330 Unicode classes took 50 ms on the loop, from each of any number of connections."""
    threads = []
    make = topic_regex.TopicPattern.__init__

    def noting(*arguments):
        threads.append(current_thread())
        make(*arguments)

    monkeypatch.setattr(topic_regex.TopicPattern, "__init__", noting)
    request = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="m",
        member_epoch=0,
        rebalance_timeout_ms=60_000,
        subscribed_topic_regex="compiled by a worker.*",
        topic_partitions=(),
    )
    protocols = {"group_coordinator_rebalance_protocols": "classic,consumer"}
    async with running_broker(tmp_path, offsets_topic_num_partitions=1, **protocols) as broker:
        await ask(broker, frame_of(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, request))
    (thread,) = threads
    assert thread is not main_thread()
