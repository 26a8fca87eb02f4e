"""Whatever clients and the cluster send: a gateway leaves no trace, holds nothing, hangs nowhere and serves the next.

`make mutated-gateway` sends a million frames.
"""

import pytest
from support.hostile.mutated_gateway import SCHEMES, run

FRAMES = 2_400


@pytest.mark.parametrize("addresses", SCHEMES)
async def test_mutated_frames_on_both_sides_harm_nobody(addresses: str) -> None:
    cluster = await run(FRAMES, 51, addresses)
    assert cluster.answers > FRAMES // 10
    assert cluster.cut
