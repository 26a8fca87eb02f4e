"""Which request versions the releases of Apache Kafka have: what brokers answer, and what clients of that time know.

`3.9.1`, `4.0.0` and `4.0.1` name a release, `4.1` and later a line, whose maintenance releases are alike.
Source: Kafka's `ApiMessageType`, and `Protocol` before 0.11, by way of `kafka_release_table.py`.
"""

from functools import cache

from .kafka_release_table import BROKER_VERSIONS, CLIENT_VERSIONS

KAFKA_3_9 = "3.9.1"
NO_VERSIONS = range(0)


@cache
def _parse_table(table: str) -> tuple[tuple[str, ...], dict[int, tuple[str, ...]]]:
    """The names of the columns, and each API's name and cells by its key."""
    head, *lines = (line.split() for line in table.splitlines())
    return tuple(head[2:]), {int(key): tuple(cells) for key, *cells in lines}


@cache
def _versions_by_api_key(release: str) -> dict[int, range]:
    releases, rows = _parse_table(BROKER_VERSIONS)
    column = releases.index(release) + 1
    return {key: _parse_range(cells[column]) for key, cells in rows.items()}


def _parse_range(cell: str) -> range:
    first, _, last = cell.partition("-")
    return range(int(first), int(last) + 1) if first else NO_VERSIONS


def broker_releases() -> tuple[str, ...]:
    """The releases and lines whose brokers are known, the oldest first."""
    return _parse_table(BROKER_VERSIONS)[0]


def release_of(name: str) -> str:
    """The release of this name, or the newest of the line that it names: `4.0` is 4.0.1. Raises: ValueError."""
    found = [release for release in broker_releases() if f"{release}.".startswith(f"{name}.")]
    if not found:
        raise ValueError(f"a release out of {', '.join(broker_releases())} expected, found {name!r}")
    return found[-1]


def kafka_4_releases() -> tuple[str, ...]:
    """The known releases without the old versions of requests: 4.0.0 and later."""
    return tuple(release for release in broker_releases() if release.startswith("4."))


def versions_of(release: str, api_key: int) -> range:
    """The versions that brokers of a release answer; empty where they have none. Raises: ValueError."""
    return _versions_by_api_key(release).get(api_key, NO_VERSIONS)


def find_removed_versions(release: str, api_key: int) -> range:
    """The versions that 3.9.1 answers and this release has no more."""
    before, left = versions_of(KAFKA_3_9, api_key), versions_of(release, api_key)
    return range(before.start, min(before.stop, left.start)) if left else before


def is_client_api(api_key: int) -> bool:
    """Whether clients may ask for it; the other keys are for brokers and controllers among themselves."""
    return api_key in _parse_table(BROKER_VERSIONS)[1]


def api_name(api_key: int) -> str:
    """Kafka's name of a request, or its number."""
    cells = _parse_table(BROKER_VERSIONS)[1].get(api_key)
    return cells[0] if cells else f"API {api_key}"


def api_key_of(name: str) -> int | None:
    """The key of Kafka's name of a request, also in capitals with `_`, as logs have it; None if there is none."""
    return _api_keys_by_name().get(name.replace("_", "").lower())


@cache
def _api_keys_by_name() -> dict[str, int]:
    return {cells[0].lower(): key for key, cells in _parse_table(BROKER_VERSIONS)[1].items()}


def client_releases() -> tuple[str, ...]:
    """The lines whose clients are known, the oldest first."""
    return _parse_table(CLIENT_VERSIONS)[0]


@cache
def first_client_index_with(api_key: int, version: int) -> int:
    """The index in `client_releases` of the oldest Java clients that know this version; the newest if none does."""
    releases, rows = _parse_table(CLIENT_VERSIONS)
    cells = rows.get(api_key, ("",))[1:]
    known = [at for at, cell in enumerate(cells) if cell != "-" and int(cell) >= version]
    return known[0] if known else len(releases) - 1
