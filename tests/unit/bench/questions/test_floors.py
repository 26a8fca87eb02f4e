"""The bare servers of bench/questions/floors.py answer what they are asked for, in C and in Python."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from stepdown.bench.cases.fetching import request_for, topic_of
from stepdown.bench.cases.producing import ProduceGrid
from stepdown.bench.load.connection import Connection
from stepdown.bench.load.plan import Asking, LoadPlan
from stepdown.bench.load.process import LoadProcess
from stepdown.bench.load.topics import Filling, Writing, batch_of
from stepdown.protocol.records.convert import convert_down

BENCHMARKS = Path(__file__).parents[4] / "bench" / "questions"
FILLING = Filling(partitions=2, partition_bytes=400_000, record_bytes=1000)


@pytest.fixture(scope="module")
def floors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    """The scripts' modules, and a maker with floor.c compiled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        import floor_servers
        import floors

        folder = tmp_path_factory.mktemp("floors")
        maker = floor_servers.FloorMaker(folder=folder, c=floor_servers.compile_floor(folder))
        yield SimpleNamespace(maker=maker, sizes=floor_servers.converted_sizes(FILLING, 1), running=floors.running)
        for name in ("floor_servers", "floor_codecs", "floors"):
            del sys.modules[name]


@pytest.fixture(scope="module")
def stored(floors: SimpleNamespace) -> bytes:
    """What is in the segment of each partition."""
    data = batch_of(FILLING) * FILLING.batches
    for partition in range(FILLING.partitions):
        folder = floors.maker.folder / "data" / f"{topic_of(FILLING)}-{partition}"
        folder.mkdir(parents=True)
        (folder / "00000000000000000000.log").write_bytes(data)
    return data


def fetched(floors: SimpleNamespace, name: str, way: str, version: int) -> list[bytes]:
    plan = floors.maker.fetch_plan(floors.maker.folder / "data", FILLING, version)
    sizes = floors.sizes if way != "sendfile" else None
    with floors.running([floors.maker.fetch(plan, name, way, sizes)]) as (server,), Connection(server.address) as asked:
        answer = asked.call(request_for(FILLING), version)
    return [bytes(partition.records) for topic in answer.responses for partition in topic.partitions]


@pytest.mark.parametrize("name", ["C", "Python"])
def test_a_segment_goes_out_as_it_is_stored(floors: SimpleNamespace, stored: bytes, name: str) -> None:
    assert fetched(floors, name, "sendfile", 4) == [stored] * 2


@pytest.mark.parametrize(("name", "way"), [("C", "relay"), ("C", "copied"), ("C", "mapped"), ("Python", "relay")])
def test_a_floor_of_conversion_sends_as_many_bytes(floors: SimpleNamespace, stored: bytes, name: str, way: str) -> None:
    assert [len(records) for records in fetched(floors, name, way, 2)] == [len(stored)] * 2


@pytest.mark.parametrize("way", ["v1", "mapped-v1"])
def test_the_bare_server_converts_as_the_broker_does(floors: SimpleNamespace, stored: bytes, way: str) -> None:
    converted = convert_down(stored, target=1, first_offset=0, out=bytearray(2 * len(stored)))
    assert fetched(floors, "Python", way, 2) == [bytes(converted.data)[: len(stored)]] * 2


@pytest.mark.parametrize("name", ["C", "Python"])
@pytest.mark.parametrize("batch_bytes", [64_000, 1_800])
def test_batches_are_appended_to_their_partitions(floors: SimpleNamespace, name: str, batch_bytes: int) -> None:
    filling = next(ProduceGrid(batch_bytes=(batch_bytes,)).cases()).filling
    maker, batch = floors.maker, batch_of(filling)
    (lane, *_) = Writing().lanes(maker.topic, filling)
    asking = Asking(kind="produce", client="produce-v3", partitions=1)
    with floors.running([maker.produce(maker.produce_plan(), name, filling)]) as (server,), LoadProcess() as load:
        plan = LoadPlan(address=server.address, lanes=(lane,) * 2, asking=asking, responses=3 * filling.partitions)
        result = load.run(plan)
    assert (result.responses, result.errors) == (6 * filling.partitions, 0)
    assert [log.read_bytes() for log in maker.logs()] == [batch * 6] * filling.partitions
