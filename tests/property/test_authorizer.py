"""The authorizer against a plain model, and against Kafka's StandardAuthorizer; more often with `make access-cases`."""

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stepdown.broker.security.authorization.acls import matches
from stepdown.broker.security.authorization.authorizer import Authorizer
from support.authorizing import Question, answers_of_kafka, filters, matches_of_kafka, modelled, questions, rules

SUPER_USERS = frozenset({"User:root", "User:a:b"})
CASES = int(os.environ.get("ACCESS_CASES", "400"))
some_rules = st.lists(rules, max_size=8, unique=True)


def answer(authorizer: Authorizer, asked: Question) -> bool:
    who = (asked.principal, asked.host, asked.operation, asked.kind)
    return authorizer.allows(*who, asked.name) if asked.name else authorizer.allows_some(*who)


@settings(max_examples=300)
@given(default=st.booleans(), acls=some_rules, asked=questions.filter(lambda each: each.name))
def test_what_is_allowed_is_what_the_rules_say(default, acls, asked):
    authorizer = Authorizer(SUPER_USERS, allows_without_acls=default, acls=acls)
    assert answer(authorizer, asked) == modelled(SUPER_USERS, default, acls, asked)


@pytest.mark.java
def test_kafka_allows_the_same_but_for_names_that_begin_with_an_asterisk(java_oracle):
    """Kafka takes the rules for `*` for rules about a prefix of such a name, and passes them over."""
    oracle = java_oracle("authorizer")
    compared = questions.filter(lambda each: each.name == "*" or not each.name.startswith("*"))

    @settings(max_examples=CASES, database=None)
    @given(default=st.booleans(), acls=some_rules, asked=st.lists(compared, min_size=1, max_size=12))
    def check(default, acls, asked):
        authorizer = Authorizer(SUPER_USERS, allows_without_acls=default, acls=acls)
        expected = answers_of_kafka(oracle, SUPER_USERS, default, acls, asked)
        assert [answer(authorizer, each) for each in asked] == expected

    check()


@pytest.mark.java
def test_kafka_filters_the_same(java_oracle):
    oracle = java_oracle("authorizer")

    @settings(max_examples=200, database=None)
    @given(wanted=filters, acls=st.lists(rules, min_size=1, max_size=12))
    def check(wanted, acls):
        assert [matches(wanted, acl) for acl in acls] == matches_of_kafka(oracle, wanted, acls)

    check()
