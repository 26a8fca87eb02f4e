"""`ssl.principal.mapping.rules`: how a certificate's distinguished name becomes the user's name (KIP-371).

    RULE:^CN=(.*?),OU=(.*?)$/$1@$2/L, DEFAULT        the first rule whose pattern matches the whole name counts

`L` and `U` at the end convert to lower or upper case; DEFAULT keeps the name as it is. Patterns are Python regular
expressions; Java's are the same except for possessive quantifiers and nested character classes.
Source: Kafka 3.9 `SslPrincipalMapper`.
"""

import re
import warnings
from collections.abc import Callable, Sequence

_RULE = re.compile(r"\s*(?:(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?)|)\s*(?:,|$)")
_REFERENCE = re.compile(r"\\(.)|\$(\d*)")

Rule = Callable[[str], str | None]


class NoMatchingRule(ValueError):
    """No rule matches this name, or the rule that matches gives no user."""


def parse_principal_rules(text: str) -> Sequence[Rule]:
    """Raises: ValueError for text that is no rule."""
    rules: list[Rule] = []
    at = 0
    text = text.strip()
    while at < len(text):
        found = _RULE.match(text, at)
        if found is None:
            raise ValueError(f"no rule: {text[at:]!r}")
        if found[1] is not None or found[2] is not None:
            rules.append(_make_rule(found))
        at = found.end()
    return rules


def map_to_user(name: str, rules: Sequence[Rule]) -> str:
    """Raises: NoMatchingRule."""
    for rule in rules:
        user = rule(name)
        if user is not None:
            return user
    raise NoMatchingRule(f"no rule of ssl.principal.mapping.rules is for {name!r}")


def _make_rule(found: re.Match[str]) -> Rule:
    default, pattern, replacement, letters = found.groups()
    if default:
        return str
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)  # a set in a set means something else in Java
            compiled = re.compile(pattern, re.ASCII)  # what \w is to Java
    except (re.error, FutureWarning) as fault:
        raise ValueError(f"{pattern!r} is no pattern that can be used here: {fault}") from fault

    def replace(found: re.Match[str]) -> str:
        return _REFERENCE.sub(lambda reference: _expand_reference(reference, found), replacement)

    def apply(name: str) -> str | None:
        if compiled.fullmatch(name) is None:
            return None
        user = compiled.sub(replace, name)  # each match in it, as Java's replaceAll does: `.*` has two, one is empty
        return {"L": user.lower(), "U": user.upper()}.get(letters, user)

    return apply


def _expand_reference(reference: re.Match[str], found: re.Match[str]) -> str:
    """`$12` is group 12, or group 1 and the digit 2 if there are fewer groups; `$9` without such a group stays `$9`.

    Raises: NoMatchingRule where Java throws: for a `$` without digits, and for a reference in a pattern without groups.
    """
    if reference[1] is not None:
        return reference[1]
    digits, groups = reference[2], found.re.groups
    for end in range(len(digits), 0, -1):
        if int(digits[:end]) <= groups:
            return (found[int(digits[:end])] or "") + digits[end:]
    if not digits or not groups:
        raise NoMatchingRule(f"{found.re.pattern!r} of ssl.principal.mapping.rules has no group for {reference[0]!r}")
    return reference[0]
