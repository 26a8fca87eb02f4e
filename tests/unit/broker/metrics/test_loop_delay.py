"""The event loop's lateness."""

from stepdown.broker.metrics.loop_delay import LoopDelay
from stepdown.network.metrics.instruments import HistogramFamily
from support.clock import ManualClock
from support.scraping import metric_of


async def test_a_ring_is_as_late_as_the_loop_was_held() -> None:
    clock, histogram = ManualClock(), HistogramFamily("delay", "", (0.001, 0.1, 1.0))
    held_s = 0.0
    delay = LoopDelay(clock, histogram, now_s=lambda: clock.now_ms() / 1000 + held_s)
    delay.start()
    await clock.advance(100)
    held_s = 0.5
    await clock.advance(100)
    counts = {s.labels["le"]: s.value for s in metric_of(histogram).samples if s.name == "delay_bucket"}
    assert counts == {"0.001": 1, "0.1": 1, "1.0": 2, "+Inf": 2}


async def test_no_ring_comes_after_the_stop() -> None:
    clock, histogram = ManualClock(), HistogramFamily("delay", "", (1.0,))
    delay = LoopDelay(clock, histogram, now_s=lambda: clock.now_ms() / 1000)
    delay.start()
    delay.stop()
    await clock.advance(1000)
    assert [s.value for s in metric_of(histogram).samples if s.name == "delay_count"] == [0]
