"""The parts of docs/compatibility.md that follow from the code: APIs, versions, and the notes that handlers carry.

`python tests/support/api_pages.py` writes them between the marks `<!-- name: begin -->` and `<!-- name: end -->`.
"""

import ast
import re
from collections.abc import Mapping
from pathlib import Path

from stepdown.broker.handlers import SERVED
from stepdown.protocol.api import API, ApiKey

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "compatibility.md"
HANDLERS = ROOT / "broker" / "handlers"

# What a broker of Kafka 3.9 in KRaft mode advertises and this one does not.
ABSENT: Mapping[ApiKey, str] = {
    ApiKey.CREATE_DELEGATION_TOKEN: "delegation tokens",
    ApiKey.RENEW_DELEGATION_TOKEN: "delegation tokens",
    ApiKey.EXPIRE_DELEGATION_TOKEN: "delegation tokens",
    ApiKey.DESCRIBE_DELEGATION_TOKEN: "delegation tokens",
    ApiKey.ADD_RAFT_VOTER: "a quorum of controllers",
    ApiKey.REMOVE_RAFT_VOTER: "a quorum of controllers",
}

# Newest versions of Kafka 3.9 where stepdown speaks one of a later Kafka.
KAFKA_3_9_LAST: Mapping[ApiKey, int] = {ApiKey.CONSUMER_GROUP_HEARTBEAT: 0, ApiKey.CONSUMER_GROUP_DESCRIBE: 0}

_FIRST_PARAGRAPH = re.compile(
    r"(?P<name>\w+), versions? (?P<versions>\d+(?:-\d+)?)(?: \([^)]*\))?(?:: |\.)(?P<note>.*)", re.S
)


def sections() -> dict[str, str]:
    """The generated text by the name of its mark."""
    return {"apis": _table(), "absent": _absent(), "notes": _notes()}


def page_with(text: str, generated: Mapping[str, str]) -> str:
    """The page with what lies between the marks replaced."""
    for name, part in generated.items():
        begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
        assert text.count(begin) == text.count(end) == 1, f"the page needs the marks {begin.strip()} and {end}"
        head, _, rest = text.partition(begin)
        text = f"{head}{begin}{part}{end}{rest.partition(end)[2]}"
    return text


def docstring(key: ApiKey) -> str:
    """What the handler's module says of the API, as Markdown."""
    tree = ast.parse((HANDLERS / f"{key.name.lower()}.py").read_text())
    text = ast.get_docstring(tree)
    assert text, f"{key.name.lower()} has no docstring"
    return text


def versions_in_docstring(key: ApiKey) -> tuple[int, int]:
    """The versions that the handler's module claims."""
    match = _first_paragraph(key)
    first, _, last = match["versions"].partition("-")
    return int(first), int(last or first)


def _first_paragraph(key: ApiKey) -> re.Match[str]:
    match = _FIRST_PARAGRAPH.match(docstring(key).split("\n\n")[0])
    assert match is not None, f"{key.name.lower()}: 'Name, versions 0-1 (KIP-1): what it does.' expected first"
    assert match["name"] == API[key].name, f"{key.name.lower()} speaks of {match['name']}"
    return match


def _table() -> str:
    rows = ["| key | API | versions | Kafka 3.9 |", "|---|---|---|---|"]
    for key, served in sorted(SERVED.items()):
        spec = API[key]
        theirs = (spec.min_version, KAFKA_3_9_LAST.get(key, spec.max_version))
        kafka = "same" if (served.first, served.last) == theirs else _range(*theirs)
        rows.append(f"| {key.value} | {spec.name} | {_range(served.first, served.last)} | {kafka} |")
    return "\n".join(rows) + "\n"


def _absent() -> str:
    rows = ["| key | API | needs |", "|---|---|---|"]
    for key, needs in sorted(ABSENT.items()):
        name = "".join(word.capitalize() for word in key.name.split("_"))
        rows.append(f"| {key.value} | {name} | {needs} |")
    return "\n".join(rows) + "\n"


def _notes() -> str:
    parts = []
    for key in sorted(SERVED):
        others = docstring(key).split("\n\n")[1:]
        note = _first_paragraph(key)["note"].strip()
        paragraphs = [note[:1].upper() + note[1:]] if note else []
        parts.append("\n\n".join([f"### {API[key].name}", *paragraphs, *others]))
    return "\n" + "\n\n".join(parts) + "\n\n"


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}–{last}"


if __name__ == "__main__":
    PAGE.write_text(page_with(PAGE.read_text(), sections()))
