import pytest
from stepdown.protocol.api import API, ApiKey, UnsupportedApi
from stepdown.protocol.errors import MalformedFrame
from stepdown.protocol.frame import (
    FrameParser,
    RequestHeader,
    decode_request_header,
    decode_response,
    encode_request,
    encode_response,
)
from stepdown.protocol.messages.api_versions import ApiVersionsResponse
from stepdown.protocol.messages.controlled_shutdown import ControlledShutdownRequest
from stepdown.protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from stepdown.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from stepdown.protocol.messages.metadata import MetadataRequest


def frame_of(spec, version, request, client_id="me"):
    return memoryview(b"".join(encode_request(spec, version, 9, client_id, request)))[4:]


def test_a_frame_that_came_whole_is_a_view_of_what_was_fed():
    data = b"\0\0\0\x03abc\0\0\0\x01d"
    parser = FrameParser(10)
    parser.feed(data)
    frame = parser.next_frame()
    assert frame == b"abc"
    assert frame.obj is data
    assert parser.next_frame() == b"d"
    assert parser.next_frame() is None
    assert parser.buffered_bytes == 0


def test_a_frame_in_pieces_is_put_together():
    parser = FrameParser(10)
    for byte in b"\0\0\0\x03ab":
        parser.feed(bytes([byte]))
        assert parser.next_frame() is None
    parser.feed(b"c\0")
    assert parser.next_frame() == b"abc"
    assert parser.next_frame() is None
    assert parser.buffered_bytes == 1


def test_a_buffer_may_be_used_again_once_no_frame_is_left():
    buffer = bytearray(b"\0\0\0\x03ab")
    parser = FrameParser(10)
    parser.feed(memoryview(buffer))
    assert parser.next_frame() is None
    buffer[:] = b"c\0\0\0\0?"
    parser.feed(memoryview(buffer)[:5])
    assert parser.next_frame() == b"abc"


def test_bytes_fed_ahead_are_kept_behind_those_that_wait():
    parser = FrameParser(10)
    parser.feed(b"\0\0\0\x01a\0\0")
    parser.feed(b"\0\x01b")
    assert parser.next_frame() == b"a"
    assert parser.next_frame() == b"b"


def test_an_empty_frame_is_a_frame():
    parser = FrameParser(10)
    parser.feed(b"\0\0\0\0")
    assert parser.next_frame() == b""


@pytest.mark.parametrize("size", [-1, 11])
@pytest.mark.parametrize("pieces", [1, 4], ids=["whole", "byte by byte"])
def test_a_size_below_zero_or_above_the_bound_is_refused(size, pieces):
    parser = FrameParser(10)
    data = size.to_bytes(4, "big", signed=True)
    parser.feed(data[: 4 // pieces])
    with pytest.raises(MalformedFrame, match=f"a frame of {size} bytes is announced, 10 is the most"):
        for start in range(4 // pieces, 5):
            parser.next_frame()
            parser.feed(data[start : start + 1])


@pytest.mark.parametrize("line", [b"GET / HTTP/1.1", b"HEAD / HTTP/1.1", b"POST / HTTP/1.1", b"PUT / HTTP/1.1"])
def test_http_is_said_to_be_http(line):
    """It was said to be a frame of 1195725856 bytes."""
    parser = FrameParser(104_857_600)
    parser.feed(line)
    with pytest.raises(MalformedFrame, match="HTTP comes where a frame of Kafka"):
        parser.next_frame()


def test_the_size_of_an_unfinished_frame_is_known_from_its_first_four_bytes():
    parser = FrameParser(1000)
    parser.feed(b"\0\0\x03")
    parser.next_frame()
    assert parser.pending_frame_bytes == 0
    parser.feed(b"\xe8ab")
    assert parser.pending_frame_bytes == 0
    parser.next_frame()
    assert parser.pending_frame_bytes == 1000
    parser.feed(bytes(998))
    assert len(parser.next_frame()) == 1000
    assert parser.pending_frame_bytes == 0


def test_an_announced_size_takes_no_memory():
    parser = FrameParser(2**31 - 1)
    parser.feed(b"\x7f\xff\xff\xffx")
    assert parser.next_frame() is None
    assert parser.buffered_bytes == 5


def test_a_header_before_flexible_versions_has_no_tagged_fields():
    header, body = decode_request_header(memoryview(bytes.fromhex("000c 0003 00000009 0002 6d65 aabb")))
    assert header == RequestHeader(ApiKey.HEARTBEAT, 3, 9, "me")
    assert body == b"\xaa\xbb"


def test_a_flexible_header_has_a_short_client_id_and_tagged_fields_that_are_skipped():
    header, body = decode_request_header(memoryview(bytes.fromhex("000c 0004 00000009 0002 6d65 01 05 02 ffff aabb")))
    assert header == RequestHeader(ApiKey.HEARTBEAT, 4, 9, "me")
    assert body == b"\xaa\xbb"


def test_the_first_version_of_controlled_shutdown_has_no_client_id():
    frame = frame_of(API[ApiKey.CONTROLLED_SHUTDOWN], 0, ControlledShutdownRequest(broker_id=3))
    assert frame == bytes.fromhex("0007 0000 00000009 00000003")
    assert decode_request_header(frame)[0].client_id is None


def test_a_null_client_id_is_none():
    frame = frame_of(API[ApiKey.METADATA], 0, MetadataRequest(), client_id=None)
    assert decode_request_header(frame)[0].client_id is None


@pytest.mark.parametrize(
    ("frame", "complaint"),
    [
        ("0003 0000 0000", "no whole header"),
        ("0003 0000 00000001 00", "client id"),
        ("0003 0000 00000001 0005 6162", "a client id of 5 bytes with 2 bytes left"),
        ("0003 0000 00000001 0002 c328", "no UTF-8"),
        ("0003 0009 00000001 0000", "uvarint"),
        ("0003 0009 00000001 0000 01 00 05 61", "a tagged field of 5 bytes"),
    ],
)
def test_a_header_that_ends_early_or_is_no_text_is_refused(frame, complaint):
    with pytest.raises(MalformedFrame, match=complaint):
        decode_request_header(memoryview(bytes.fromhex(frame)))


def test_unknown_keys_and_versions_are_refused_by_name():
    with pytest.raises(UnsupportedApi, match="API key 999 is unknown"):
        decode_request_header(memoryview(bytes.fromhex("03e7 0000 00000001 ffff")))
    with pytest.raises(UnsupportedApi, match="Fetch has versions 0-17, not 18"):
        decode_request_header(memoryview(bytes.fromhex("0001 0012 00000001 ffff 00")))


def test_any_version_of_api_versions_passes_the_header():
    header, _ = decode_request_header(memoryview(bytes.fromhex("0012 0063 00000001 ffff 00")))
    assert header.api_version == 99


def test_a_response_begins_with_its_size_and_correlation_id():
    spec = API[ApiKey.HEARTBEAT]
    assert b"".join(encode_response(spec, 0, 7, HeartbeatResponse(error_code=16))) == bytes.fromhex(
        "00000006 00000007 0010"
    )
    assert b"".join(encode_response(spec, 4, 7, HeartbeatResponse())) == bytes.fromhex(
        "0000000c 00000007 00 00000000 0000 00"
    )


def test_the_size_of_a_response_counts_what_is_sent_later():
    class Lazy:
        size_bytes = 1000

    partition = PartitionData(records=Lazy())
    response = FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[partition])])
    head, lazy = encode_response(API[ApiKey.FETCH], 0, 7, response)
    assert int.from_bytes(head[:4], "big") == len(head) - 4 + lazy.size_bytes


@pytest.mark.parametrize("version", range(5))
def test_the_response_of_api_versions_never_has_a_flexible_header(version):
    spec = API[ApiKey.API_VERSIONS]
    frame = memoryview(b"".join(encode_response(spec, version, 7, ApiVersionsResponse(error_code=42))))[4:]
    assert frame[:6] == bytes.fromhex("00000007 002a")
    assert decode_response(spec, version, frame) == (7, ApiVersionsResponse(error_code=42))


def test_a_refused_version_of_api_versions_is_answered_in_version_0():
    refused = memoryview(bytes.fromhex("00000007 0023 00000000"))
    assert decode_response(API[ApiKey.API_VERSIONS], 3, refused) == (7, ApiVersionsResponse(error_code=35))


def test_a_request_frame_is_read_back():
    request = HeartbeatRequest(group_id="g", member_id="m")
    for version in range(5):
        header, body = decode_request_header(frame_of(API[ApiKey.HEARTBEAT], version, request))
        assert header == RequestHeader(ApiKey.HEARTBEAT, version, 9, "me")
        assert body[:1] in (b"\0", b"\x02")


def test_a_client_id_that_is_too_long_is_our_mistake():
    with pytest.raises(ValueError, match="a client id of 32768 bytes"):
        encode_request(API[ApiKey.METADATA], 0, 1, "x" * 32768, MetadataRequest())


def test_a_response_without_header_is_refused():
    with pytest.raises(MalformedFrame, match="a response of 2 bytes"):
        decode_response(API[ApiKey.HEARTBEAT], 0, memoryview(b"\0\0"))
