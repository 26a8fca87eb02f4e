"""Parses JAAS settings: `org.apache.kafka…LoginModule required user_alice="secret";`, with single or double quotes.

The class name is only compared; no class is loaded.
"""

from __future__ import annotations

import re

_QUOTED = r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'"""
_JAAS = re.compile(rf"""\s*(?P<module>[\w.$]+)\s+required\b(?P<options>(?:[^;"']|{_QUOTED})*);\s*""")
_OPTION = re.compile(r"""([\w.-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s"';]+))""")


def parse_jaas(text: str, module: str) -> dict[str, str] | None:
    """The options of a login module of this class, of any package; None if the text is anything else."""
    found = _JAAS.fullmatch(text)
    if found is None or found["module"].rpartition(".")[2] != module:
        return None
    return {name: re.sub(r"\\(.)", r"\1", "".join(values)) for name, *values in _OPTION.findall(found["options"])}
