"""`ssl.principal.mapping.rules`: how a certificate's distinguished name becomes the user's name (KIP-371).

    RULE:^CN=(.*?),OU=(.*?)$/$1@$2/L, DEFAULT        the first rule whose pattern is the whole name counts

`L` and `U` at the end make small or capital letters, DEFAULT takes the name as it is.
Source: Kafka 3.9 `SslPrincipalMapper`. Patterns are Python's, which Java's are but for possessive and nested classes.
"""

import re
from collections.abc import Callable, Sequence

_RULE = re.compile(r"\s*(?:(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?))\s*(?:,|$)")
_REFERENCE = re.compile(r"\\(.)|\$(\d+)")

Rule = Callable[[str], str | None]


class NoMatchingRule(ValueError):
    """No rule is for this name."""


def principal_rules(text: str) -> Sequence[Rule]:
    """Raises: ValueError for what is no rule."""
    rules, at = [], 0
    text = text.strip()
    while at < len(text):
        found = _RULE.match(text, at)
        if found is None:
            raise ValueError(f"no rule: {text[at:]!r}")
        rules.append(_rule(found))
        at = found.end()
    return rules or [str]


def user_of(name: str, rules: Sequence[Rule]) -> str:
    """Raises: NoMatchingRule."""
    for rule in rules:
        user = rule(name)
        if user is not None:
            return user
    raise NoMatchingRule(f"no rule of ssl.principal.mapping.rules is for {name!r}")


def _rule(found: re.Match[str]) -> Rule:
    default, pattern, replacement, letters = found.groups()
    if default:
        return str
    try:
        compiled = re.compile(pattern)
    except re.error as fault:
        raise ValueError(f"{pattern!r} is no pattern: {fault}") from fault

    def apply(name: str) -> str | None:
        matched = compiled.fullmatch(name)
        if matched is None:
            return None
        user = _REFERENCE.sub(lambda reference: _referred(reference, matched), replacement)
        return {"L": user.lower(), "U": user.upper()}.get(letters, user)

    return apply


def _referred(reference: re.Match[str], matched: re.Match[str]) -> str:
    """`$12` is group 12, or group 1 and a 2 where there are fewer; `$9` without such a group is those two letters."""
    if reference[1] is not None:
        return reference[1]
    digits = reference[2]
    for end in range(len(digits), 0, -1):
        if int(digits[:end]) <= (matched.re.groups or 0):
            return (matched[int(digits[:end])] or "") + digits[end:]
    return reference[0]
