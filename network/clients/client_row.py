"""The row of one client on /clients, and its JSON.

    {"clients": [row…], "forgotten": 0, "most_clients": 1000, "cluster": "kafka-1:9092"}

`cluster`: what commands take after `-b` at a gateway, also `kafka-1:9092 --command-config FILE`; "" if the report is of
a broker or from a request log.

`fetched`: Fetch requests, by the newest record format that their version reads.
`lost`: how often something was dropped, on its way to the client or from it, as its versions have no field for it.
`loss_details`: for each kind of loss, the time of the latest request with it and, if topics lose it, up to ten of them.
`cannot_carry`: all that its requests have no field for, whether or not any was lost.
`because`: the reasons, joined by `; `. `works` and `reasons` summarize all releases.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from ...protocol.api import ApiKey
from ...protocol.kafka_releases import api_name
from .losses import TIMESTAMPS, ZSTD
from .seen_client import SeenClient
from .software import Software
from .verdict import Compatibility, Verdict, find_advice, judge_by_release

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
FIRST_FETCH_WITH_TIMESTAMPS = 2
FIRST_FETCH_WITH_HEADERS = 4
OWN_COMMAND = "own command"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRow:
    """A client at one moment.

    `kafka_4`: for each release of Kafka 4, whether the client works with it: yes, no or unknown. `because`: the
    reasons, for each release at which they change.
    """

    address: str
    principal: str
    client_id: str
    software: str
    software_version: str
    software_is_guess: bool
    requests: dict[str, dict[str, int]]
    produced: dict[str, int]
    fetched: dict[str, int]
    converted: dict[str, int]
    translated: dict[str, int]
    lost: dict[str, int]
    loss_details: dict[str, dict[str, Any]]
    cannot_carry: Sequence[str]
    mapped_errors: dict[str, int]
    latest_ms: int
    kafka_4: dict[str, str]
    because: dict[str, str]
    mend: str

    @property
    def works(self) -> str:
        """yes, no or unknown, if it is the same for all releases of Kafka 4; otherwise each word with its releases. A
        *no* of stepdown itself is OWN_COMMAND."""
        if self.is_stepdown_software and Compatibility.NO in self.kafka_4.values():
            return OWN_COMMAND
        releases: dict[str, list[str]] = {}
        for release, word in self.kafka_4.items():
            releases.setdefault(word, []).append(release)
        if len(releases) == 1:
            return next(iter(releases))
        return ", ".join(f"{word} with {_format_range(found)}" for word, found in releases.items())

    @property
    def reasons(self) -> str:
        """The reasons as one text, each once: first those of all releases, then the others with their releases."""
        releases: dict[str, list[str]] = {}
        latest = ""
        for release in self.kafka_4:
            latest = self.because.get(release, latest)
            for reason in filter(None, latest.split("; ")):
                releases.setdefault(reason, []).append(release)
        groups: dict[tuple[str, ...], list[str]] = {}
        for reason, found in releases.items():
            groups.setdefault(tuple(found), []).append(reason)
        shared = groups.pop(tuple(self.kafka_4), [])
        return "; ".join([*shared, *(f"{_format_range(found)}: {'; '.join(those)}" for found, those in groups.items())])

    @property
    def described_software(self) -> str:
        return str(Software(self.software, self.software_version, self.software_is_guess))

    @property
    def is_stepdown_software(self) -> bool:
        """Whether it is a command or a producer of stepdown."""
        return Software(self.software, self.software_version, self.software_is_guess).is_stepdown

    @property
    def request_count(self) -> int:
        return sum(count for versions in self.requests.values() for count in versions.values())


def _format_range(releases: Sequence[str]) -> str:
    """The first and the last release, as text."""
    return " to ".join(dict.fromkeys((releases[0], releases[-1])))


def make_row(client: SeenClient, latest_ms: int) -> ClientRow:
    """The row of a client at this moment."""
    software = client.software
    verdicts = judge_by_release(client.requests, software)
    return ClientRow(
        address=client.address,
        principal=str(client.principal),
        client_id=client.client_id,
        software=software.name,
        software_version=software.version,
        software_is_guess=software.is_guess,
        requests=_count_requests_by_name(client.requests),
        produced={f"v{magic} {_codec_name(codec)}": count for (magic, codec), count in sorted(client.produced.items())},
        fetched=_count_fetches_by_format(client.requests),
        converted={
            f"v{magic} {_codec_name(codec)} as v{sent}": count
            for (magic, sent, codec), count in sorted(client.converted.items())
        },
        translated={
            f"{api_name(key)} {asked} as {sent}": count for (key, asked, sent), count in client.translated.items()
        },
        lost=dict(client.lost),
        loss_details={
            what: {
                "latest_ms": details.latest_ms(client.latest_s, latest_ms),
                "topics": list(details.topics),
            }
            for what, details in client.loss_details.items()
        },
        cannot_carry=_list_missing_fields(client),
        mapped_errors={
            f"{api_name(key)} {error} as {told}": count for (key, error, told), count in client.mapped_errors.items()
        },
        latest_ms=latest_ms,
        kafka_4={verdict.release: str(verdict.works) for verdict in verdicts},
        because=_reasons_by_release(verdicts),
        mend=find_advice(verdicts, software, client.requests),
    )


def dump_row(row: ClientRow) -> dict[str, Any]:
    """The row as a JSON object."""
    return {**asdict(row), "works": row.works, "reasons": row.reasons, "is_own": row.is_stepdown_software}


def read_row(values: Mapping[str, Any]) -> ClientRow:
    """The row of a JSON object. Raises: KeyError if a field is missing."""
    return ClientRow(**{field.name: values[field.name] for field in fields(ClientRow)})


def _count_requests_by_name(asked: Mapping[tuple[int, int], int]) -> dict[str, dict[str, int]]:
    shown: dict[str, dict[str, int]] = {}
    for (key, version), count in sorted(asked.items()):
        shown.setdefault(api_name(key), {})[str(version)] = count
    return shown


def _codec_name(codec: int) -> str:
    return CODECS[codec] if codec < len(CODECS) else "other"


def _count_fetches_by_format(asked: Mapping[tuple[int, int], int]) -> dict[str, int]:
    """Counts fetches by the newest record format that their version reads."""
    counts: dict[str, int] = {}
    for (key, version), count in sorted(asked.items()):
        if key == ApiKey.FETCH:
            magic = 0 if version < FIRST_FETCH_WITH_TIMESTAMPS else 1 if version < FIRST_FETCH_WITH_HEADERS else 2
            counts[f"v{magic}"] = counts.get(f"v{magic}", 0) + count
    return counts


def _list_missing_fields(client: SeenClient) -> list[str]:
    """What the versions of its requests have no field for."""
    missing = []
    oldest_fetch = min((version for key, version in client.requests if key == ApiKey.FETCH), default=None)
    if oldest_fetch is not None and oldest_fetch < FIRST_FETCH_WITH_HEADERS:
        missing += ["headers", ZSTD, "whether a transaction was committed"]
    if (oldest_fetch is not None and oldest_fetch < FIRST_FETCH_WITH_TIMESTAMPS) or any(
        magic == 0 for magic, _ in client.produced
    ):
        missing.append(TIMESTAMPS)
    return missing


def _reasons_by_release(verdicts: tuple[Verdict, ...]) -> dict[str, str]:
    """The reasons by release, without releases that have the same reasons as the one before."""
    shown: dict[str, str] = {}
    latest = ""
    for verdict in verdicts:
        text = "; ".join(verdict.because)
        if text != latest:
            shown[verdict.release] = text
        latest = text
    return shown
