from stepdown.broker.network.company import Company
from stepdown.broker.network.memory_budget import MemoryBudget


async def test_answers_wait_for_nobody_while_something_is_converted() -> None:
    converting = MemoryBudget(1)
    company = Company(converting)
    assert company.is_there(0)
    with await converting.claim(1):
        assert not company.is_there(0)
    assert company.is_there(5)
    assert not company.is_there(6)
