"""A few of the producer's random scripts, of fewer records; `make producer-storm` runs 10 million records of them."""

from collections import Counter
from collections.abc import Iterator

import pytest
from support.producer_storm import SamePort, Script


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SamePort]:
    with SamePort(tmp_path_factory.mktemp("storm")) as broker:
        yield broker


@pytest.mark.parametrize("kind", ["plain", "transactions"])
@pytest.mark.parametrize("trouble", ["none", "cuts", "stops", "kills", "expiry"])
async def test_no_record_is_lost_doubled_reordered_or_fails_without_cause(
    broker: SamePort, trouble: str, kind: str
) -> None:
    counts: Counter[str] = Counter()
    seed = ["none", "cuts", "stops", "kills", "expiry"].index(trouble) * 2 + (kind == "plain")
    script = Script(broker, 1000 + seed, counts, 4000)
    script.trouble, script.is_transactional = trouble, kind == "transactions"
    await script.run()
    assert script.wrong == []
    assert counts["records"] >= 4000
