"""Counts what one client does, with a few additions to dictionaries for each request."""

from collections import defaultdict

from ...protocol.api import ApiKey
from ..principal import ANONYMOUS, KafkaPrincipal
from .losses import LZ4, LZ4_OF_KAFKA_NODE, LatestLosses
from .refused_fetches import RefusedFetches
from .software import WITHOUT_LZ4, Software, guess_software, may_be_kafka_node

UNKNOWN = "unknown"
"""Name and version of software that has not named itself."""
GREETINGS = frozenset({ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE})
"""Requests that need no login."""
LEAST_RECORDS_BYTES = 26
"""The size of the smallest message: magic 0, without key and value."""
MAGIC_BYTE = 16
CODEC_BYTES = (17, 17, 22)
"""By magic, the byte whose lower three bits are the codec."""
CODEC_MASK = 7
COUNTS = ("requests", "produced", "converted", "translated", "mapped_errors", "lost")
"""The fields that count."""


class SeenClient:
    """A client: its address, principal, client id and software, and what it did.

    `requests`: by API key and version. `produced`: Produce requests, by magic and codec of their first batch.
    `converted`: slices of fetches, by stored magic, sent magic and codec of their first batch. `translated`: by API
    key, version asked and version sent on. `mapped_errors`: by API key, error and the error that was sent instead.
    `lost`: by what could not be sent; `loss_details`: when and where. `refused_fetches`: partitions with an error in
    place of records. `latest_s`: when the latest request came, by the server's clock of requests.
    `is_kept`: the client is in the report.
    """

    __slots__ = (
        "_guess",
        "_guessed_from",
        "address",
        "client_id",
        "converted",
        "is_kept",
        "latest_s",
        "loss_details",
        "lost",
        "mapped_errors",
        "principal",
        "produced",
        "refused_fetches",
        "requests",
        "software_name",
        "software_version",
        "translated",
    )

    def __init__(
        self,
        address: str = "",
        principal: KafkaPrincipal = ANONYMOUS,
        client_id: str = "",
        software_name: str = UNKNOWN,
        software_version: str = UNKNOWN,
    ) -> None:
        self.address = address
        self.principal = principal
        self.client_id = client_id
        self.software_name = software_name
        self.software_version = software_version
        self.requests: defaultdict[tuple[int, int], int] = defaultdict(int)
        self.produced: defaultdict[tuple[int, int], int] = defaultdict(int)
        self.converted: defaultdict[tuple[int, int, int], int] = defaultdict(int)
        self.translated: defaultdict[tuple[int, int, int], int] = defaultdict(int)
        self.mapped_errors: defaultdict[tuple[int, int, int], int] = defaultdict(int)
        self.lost: defaultdict[str, int] = defaultdict(int)
        self.loss_details: dict[str, LatestLosses] = {}
        self.refused_fetches = RefusedFetches()
        self.latest_s = 0.0
        self.is_kept = False
        self._guess: Software | None = None
        self._guessed_from = 0

    def count_request(self, asked: tuple[int, int], at_s: float) -> None:
        """`asked`: API key and version, which must be served: a peer must not be able to add arbitrary keys."""
        self.requests[asked] += 1
        self.latest_s = at_s

    def count_produced_format(self, records: memoryview) -> None:
        """Counts format and codec of a Produce by its first batch: a producer uses one of each."""
        if len(records) >= LEAST_RECORDS_BYTES:
            magic = records[MAGIC_BYTE]
            if magic < len(CODEC_BYTES):
                self.produced[magic, records[CODEC_BYTES[magic]] & CODEC_MASK] += 1

    def count_loss(self, what: str, count: int, topics: tuple[str, ...] = ()) -> None:
        """Counts what could not be sent, for the latest request."""
        self._add_loss_details(what, LatestLosses(self.latest_s, topics))
        self.lost[what] += count  # after its details, since another thread may copy both now

    def note_refused_fetch(self, topic: str, partition: int, offset: int) -> None:
        """Notes that the latest request got an error in place of the records from `offset` on."""
        self.refused_fetches.note((topic, partition), offset, self.latest_s)

    def _add_loss_details(self, what: str, details: LatestLosses) -> None:
        known = self.loss_details.get(what)
        self.loss_details[what] = details if known is None else known.join(details)

    @property
    def lz4_loss(self) -> str:
        """What records in LZ4 are counted as for this client; "": nothing tells that it does not decompress them."""
        if self.software.name in WITHOUT_LZ4:
            return LZ4
        return LZ4_OF_KAFKA_NODE if may_be_kafka_node(self.software, self.requests) else ""

    @property
    def software(self) -> Software:
        """The software that it named itself, or a guess from its requests."""
        if self.software_name != UNKNOWN:
            return Software(self.software_name, self.software_version, is_guess=False)
        if self._guess is None or self._guessed_from != len(self.requests):
            self._guessed_from = len(self.requests)
            self._guess = guess_software(self.client_id, self.requests)
        return self._guess

    @property
    def software_labels(self) -> tuple[str, str]:
        """Name and version of its software as labels of a metric."""
        if self.software_name != UNKNOWN:
            return self.software_name, self.software_version
        return self.software.guess_labels

    def copy(self) -> "SeenClient":
        """A copy of the counts, for another thread."""
        copied = SeenClient(self.address, self.principal, self.client_id, self.software_name, self.software_version)
        for name in COUNTS:
            setattr(copied, name, getattr(self, name).copy())
        copied.loss_details, copied.latest_s = self.loss_details.copy(), self.latest_s
        copied.refused_fetches.join(self.refused_fetches)
        return copied

    def move_counts_from(self, other: "SeenClient") -> None:
        """Adds the counts of `other` and clears them there."""
        for name in COUNTS:
            mine, theirs = getattr(self, name), getattr(other, name)
            for key, count in theirs.items():
                mine[key] += count
            theirs.clear()
        for what, details in other.loss_details.items():
            self._add_loss_details(what, details)
        other.loss_details.clear()
        self.refused_fetches.join(other.refused_fetches)
        other.refused_fetches.clear()
        self.latest_s = max(self.latest_s, other.latest_s)
