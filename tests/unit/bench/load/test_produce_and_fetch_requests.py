"""The records that benchmarks write, and where they look for errors."""

import zlib
from itertools import islice
from struct import unpack_from

import pytest
from stepdown.bench.load.produce_and_fetch_requests import (
    Filling,
    ProduceRequests,
    batches_of,
    produce_error_at,
    produce_frames,
)
from stepdown.bench.load.values import ValueKind, make_values
from stepdown.protocol.api import API, ApiKey
from stepdown.protocol.frame import decode_request_header, encode_response
from stepdown.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from stepdown.protocol.records.batches import iter_batches
from stepdown.protocol.records.layout import Codec
from stepdown.protocol.schema import decoder_of


def _produced(frame: bytes) -> ProduceRequest:
    header, body = decode_request_header(memoryview(frame)[4:])
    request: ProduceRequest = decoder_of(ProduceRequest, header.api_version)(body)
    return request


def a_filling(codec: Codec = Codec.NONE, magic: int = 2) -> Filling:
    return Filling(partitions=3, partition_bytes=50_000, record_bytes=1000, codec=codec, magic=magic)


def test_a_partition_holds_at_least_what_was_asked() -> None:
    filling = a_filling()
    assert (filling.records_a_batch, filling.batches, filling.records) == (16, 4, 64)


def test_a_record_larger_than_a_batch_is_a_batch() -> None:
    filling = Filling(partitions=1, partition_bytes=1, record_bytes=100_000)
    assert (filling.records_a_batch, filling.batches) == (1, 1)


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.LZ4], ids=lambda codec: codec.name.lower())
def test_a_batch_is_of_the_magic_and_codec_and_size(codec: Codec, magic: int) -> None:
    batches = list(iter_batches(memoryview(batches_of(a_filling(codec, magic), 1)[0])))
    records = [record for batch in batches for record in batch.records()]
    assert {(batch.magic, batch.codec) for batch in batches} == {(magic, codec)}
    assert [len(record.value or b"") for record in records] == [1000] * 16


@pytest.mark.parametrize("version", [1, 2, 3])
def test_the_error_code_is_found_in_an_answer(version: int) -> None:
    partition = PartitionProduceResponse(index=0, error_code=6, base_offset=-1)
    response = ProduceResponse(responses=(TopicProduceResponse(name="some-topic", partition_responses=(partition,)),))
    frame = b"".join(encode_response(API[ApiKey.PRODUCE], version, 1, response))  # type: ignore[arg-type]
    assert unpack_from(">h", frame, produce_error_at("some-topic"))[0] == 6


def test_connections_begin_at_different_partitions() -> None:
    filling = a_filling()
    connections = ProduceRequests(connections=4, in_flight=2).connection_requests("t", filling)
    frames = produce_frames("t", filling, rounds=44)
    assert [connection.requests[0] for connection in connections] == frames[:4]
    assert {connection.in_flight for connection in connections} == {2}


def test_a_request_may_write_to_several_partitions() -> None:
    filling = a_filling()
    connections = ProduceRequests(connections=2, request_partitions=2).connection_requests("t", filling)
    written = [
        [(data.index, bytes(data.records or b"")) for data in produced.topic_data[0].partition_data]
        for produced in map(_produced, connections[0].requests[:3])
    ]
    batches = batches_of(filling, filling.different_batches)
    assert written == [[(k, batches[2 * k]), ((k + 1) % 3, batches[2 * k + 1])] for k in range(3)]


def test_batches_do_not_come_again_at_once() -> None:
    filling = Filling(partitions=3, partition_bytes=1, record_bytes=1000, batch_bytes=64_000, data=ValueKind.JSON)
    assert len(set(batches_of(filling, filling.different_batches))) == 32
    requests = ProduceRequests(connections=1).connection_requests("t", filling)[0].requests
    assert len(requests) == len(set(requests)) == 33


def test_a_partition_is_filled_with_different_batches() -> None:
    filling = Filling(partitions=2, partition_bytes=192_000, record_bytes=1000, batch_bytes=64_000, data=ValueKind.JSON)
    produced = [_produced(frame).topic_data[0].partition_data[0] for frame in produce_frames("t", filling, rounds=3)]
    batches = batches_of(filling, 6)
    assert [each.index for each in produced] == [0, 1] * 3
    assert [bytes(each.records or b"") for each in produced if each.index == 1] == list(batches[1::2])


@pytest.mark.parametrize("data", ValueKind)
def test_values_have_the_size_and_are_the_same_every_time(data: ValueKind) -> None:
    first, again = ([next(made) for _ in range(5)] for made in (make_values(data, 1000), make_values(data, 1000)))
    assert first == again
    assert [len(value) for value in first] == [1000] * 5


def test_letters_of_one_kind_are_no_text() -> None:
    """What codecs make of the kinds of data: text to a half or so, one letter to next to nothing, chance to itself."""
    parts = {data: len(zlib.compress(b"".join(islice(make_values(data, 1000), 64)))) / 64_000 for data in ValueKind}
    assert parts[ValueKind.UNIFORM] < 0.01 < parts[ValueKind.LOGS] < 0.4
    assert 0.2 < parts[ValueKind.TEXT] < 0.6 < 0.99 < parts[ValueKind.RANDOM]
