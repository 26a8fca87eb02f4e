"""What is noted of requests: it counts the same whether it went into the windows at once, in parts or by topic."""

import pytest
from stepdown.producer.metrics.metrics import MOST_NOTES, Note, ProducerMetrics


def meters() -> ProducerMetrics:
    return ProducerMetrics(lambda: 1_700_000_000_000)


def note(topic: str, number: int) -> Note:
    return topic, 100 + number, number, 50 + number, number + 1, 1.0


@pytest.mark.parametrize("topics", [["t"], ["t", "u", "t"]], ids=["one topic", "two topics"])
@pytest.mark.parametrize("batches_a_request", [1, 3])
def test_many_requests_count_as_much_as_each_alone(topics: list[str], batches_a_request: int) -> None:
    noted, told = meters(), meters()
    for first in range(0, 3 * MOST_NOTES, batches_a_request):
        batches = [note(topics[n % len(topics)], n) for n in range(first, first + batches_a_request)]
        for each in (noted, told):
            each.count_request(batches, 1_700_000_000_000)
        told.snapshot()
    assert noted.snapshot() == pytest.approx(told.snapshot(), nan_ok=True)
    assert {t: pytest.approx(v) for t, v in told.topic_snapshot().items()} == noted.topic_snapshot()
    assert noted.snapshot()["record-send-total"] == sum(n + 1 for n in range(3 * MOST_NOTES))
    assert noted.snapshot()["records-per-request-avg"] == pytest.approx(
        sum(n + 1 for n in range(3 * MOST_NOTES)) / (3 * MOST_NOTES) * batches_a_request
    )
    assert noted.snapshot()["batch-size-max"] == 100 + 3 * MOST_NOTES - 1
