"""JAAS settings: `org.apache.kafka…LoginModule required user_alice="secret";`, options in either kind of quotes.

Nothing is loaded by the class's name: it is only compared.
"""

from __future__ import annotations

import re

_QUOTED = r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'"""
_JAAS = re.compile(rf"""\s*(?P<module>[\w.$]+)\s+required\b(?P<options>(?:[^;"']|{_QUOTED})*);\s*""")
_OPTION = re.compile(r"""([\w.-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s"';]+))""")


def parse_jaas(text: str, module: str) -> dict[str, str] | None:
    """The options of a login module of this class, whatever its package; None if the text is nothing of the kind."""
    found = _JAAS.fullmatch(text)
    if found is None or found["module"].rpartition(".")[2] != module:
        return None
    return {name: re.sub(r"\\(.)", r"\1", "".join(values)) for name, *values in _OPTION.findall(found["options"])}
