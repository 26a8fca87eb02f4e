"""Codecs with their quirks by magic, and what hostile streams cost."""

import gzip
import subprocess
import sys
import threading
import tracemalloc
from itertools import zip_longest

import cramjam
import lz4.frame
import pytest
import zstandard
from stepdown.protocol.errors import InvalidRecord, RecordTooLarge, UnsupportedCompression
from stepdown.protocol.records import kernel
from stepdown.protocol.records.compression import codecs as compression
from stepdown.protocol.records.compression import xerial
from stepdown.protocol.records.compression.codecs import compress, decompress, decompress_in_chunks, make_compressor
from stepdown.protocol.records.layout import Codec

CODECS = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
TEXT = b"".join(b"line %d of a text\n" % n for n in range(20_000))
NOISE = bytes(kernel.crc32(n.to_bytes(4, "big")) & 0xFF for n in range(200_000))
MiB = 1 << 20


def opened(codec, data, magic=2, max_bytes=10 * MiB):
    return bytes(decompress(codec, data, magic=magic, max_bytes=max_bytes))


@pytest.mark.parametrize("codec", [Codec.NONE, *CODECS])
@pytest.mark.parametrize("data", [b"", b"a", TEXT, NOISE, TEXT[:65536], TEXT[:65537]], ids=len)
def test_what_was_compressed_opens_to_itself(codec, data):
    assert opened(codec, compress(codec, data, magic=2)) == data


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("size", [1, 1000, 32_768, 65_536, 100_000])
def test_it_does_not_matter_how_the_data_is_cut(codec, size):
    data = TEXT[:150_000] if size > 1 else TEXT[:3000]
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    assert opened(codec, compress(codec, chunks, magic=2)) == data


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
@pytest.mark.parametrize("level", [-1, 1, 3, 9, 12])
def test_levels_are_kafka_s_numbers(codec, level):
    if codec is Codec.GZIP:
        level = min(level, 9)
    assert opened(codec, compress(codec, TEXT, magic=2, level=level)) == TEXT


def test_a_high_lz4_level_compresses_better_than_the_default_which_is_called_9():
    usual, nine, high = (len(compress(Codec.LZ4, TEXT, magic=2, level=level)) for level in (None, 9, 12))
    assert usual == nine > high


@pytest.mark.parametrize("magic", [0, 1])
def test_zstd_does_not_exist_below_magic_2(magic):
    with pytest.raises(UnsupportedCompression):
        make_compressor(Codec.ZSTD, bytearray(), magic=magic)
    with pytest.raises(InvalidRecord, match="zstd"):
        opened(Codec.ZSTD, compress(Codec.ZSTD, TEXT, magic=2), magic=magic)


@pytest.mark.parametrize("codec", CODECS)
def test_a_bomb_is_refused_at_the_limit_and_never_held(codec):
    bomb = compress(codec, (bytes(MiB) for _ in range(64)), magic=2)
    tracemalloc.start()
    with pytest.raises(RecordTooLarge, match="1048576"):
        for _ in decompress_in_chunks(codec, bomb, magic=2, max_bytes=MiB):
            pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MiB


@pytest.mark.parametrize("codec", CODECS)
def test_pieces_are_small_however_much_comes_out(codec):
    bomb = compress(codec, (bytes(MiB) for _ in range(16)), magic=2)
    assert max(len(piece) for piece in decompress_in_chunks(codec, bomb, magic=2, max_bytes=16 * MiB)) <= 64 * 1024


@pytest.mark.parametrize("codec", CODECS)
def test_exactly_the_limit_is_allowed(codec):
    data = compress(codec, TEXT, magic=2)
    assert opened(codec, data, max_bytes=len(TEXT)) == TEXT
    with pytest.raises(RecordTooLarge, match=str(len(TEXT) - 1)):
        opened(codec, data, max_bytes=len(TEXT) - 1)


@pytest.mark.parametrize("codec", CODECS)
def test_bytes_that_are_no_stream_are_invalid(codec):
    with pytest.raises(InvalidRecord):
        opened(codec, b"\xff\xfe\xfd\xfc this is no stream of any codec")


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
def test_a_stream_that_ends_early_is_invalid(codec):
    data = compress(codec, TEXT, magic=2)
    for size in (0, 1, 5, len(data) // 2, len(data) - 1):
        with pytest.raises(InvalidRecord):
            opened(codec, data[:size])


@pytest.mark.parametrize("codec", CODECS)
def test_threads_compress_and_open_side_by_side(codec):
    """A zstandard compressor that threads share brings the process down."""
    results = []

    def work():
        results.extend(opened(codec, compress(codec, TEXT, magic=2)) == TEXT for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 80


# gzip


def test_gzip_members_that_follow_one_another_are_read_on():
    assert opened(Codec.GZIP, gzip.compress(b"one,") + gzip.compress(b"") + gzip.compress(b"two")) == b"one,two"


def test_what_follows_a_gzip_stream_and_begins_none_is_ignored():
    assert opened(Codec.GZIP, gzip.compress(b"one") + b"\x00\x00rest") == b"one"


# lz4


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_lz4_has_the_broken_header_checksum_in_magic_0_and_only_there(magic):
    header = compress(Codec.LZ4, TEXT, magic=magic)[:7]
    assert header.hex() == ("04224d1860401a" if magic == 0 else "04224d18604082")


@pytest.mark.parametrize("header", ["82", "1a", "00"])
def test_magic_0_reads_lz4_without_looking_at_the_header_checksum(header):
    data = bytearray(compress(Codec.LZ4, TEXT, magic=1))
    data[6] = int(header, 16)
    assert opened(Codec.LZ4, data, magic=0) == TEXT


@pytest.mark.parametrize("magic", [1, 2])
def test_other_magics_insist_on_the_lz4_header_checksum(magic):
    with pytest.raises(InvalidRecord, match="descriptor"):
        opened(Codec.LZ4, compress(Codec.LZ4, TEXT, magic=0), magic=magic)


def test_the_stock_lz4_library_reads_what_is_written_for_magic_1_and_2():
    assert lz4.frame.decompress(compress(Codec.LZ4, TEXT + NOISE, magic=2)) == TEXT + NOISE


@pytest.mark.parametrize("block_size", [4, 5, 6, 7])
@pytest.mark.parametrize("checksum", [False, True])
def test_lz4_frames_of_other_writers_are_read(block_size, checksum):
    frame = lz4.frame.compress(
        TEXT, block_size=block_size, block_linked=False, block_checksum=checksum, content_checksum=checksum
    )
    assert opened(Codec.LZ4, frame) == TEXT


def test_an_lz4_block_checksum_that_is_wrong_is_invalid():
    frame = bytearray(lz4.frame.compress(b"abc" * 100, block_linked=False, block_checksum=True, store_size=False))
    frame[-5] ^= 1
    with pytest.raises(InvalidRecord, match="checksum"):
        opened(Codec.LZ4, frame)


def test_an_lz4_content_checksum_is_not_verified():
    """Kafka reads it and goes on."""
    frame = bytearray(lz4.frame.compress(TEXT, block_linked=False, content_checksum=True))
    frame[-1] ^= 1
    assert opened(Codec.LZ4, frame) == TEXT


def test_linked_lz4_blocks_are_invalid():
    with pytest.raises(InvalidRecord, match="flags"):
        opened(Codec.LZ4, lz4.frame.compress(TEXT, block_linked=True))


def test_only_the_first_lz4_frame_counts():
    assert opened(Codec.LZ4, compress(Codec.LZ4, b"one", magic=2) + b"anything") == b"one"


def test_an_lz4_block_larger_than_its_frame_allows_is_invalid():
    frame = compress(Codec.LZ4, b"one", magic=2)[:7] + (65_537).to_bytes(4, "little") + bytes(65_537)
    with pytest.raises(InvalidRecord, match="65537"):
        opened(Codec.LZ4, frame)


# snappy


def test_snappy_is_written_in_xerial_s_frame_with_blocks_of_32_kib():
    data = compress(Codec.SNAPPY, TEXT, magic=1)
    assert data[:16].hex() == "82534e4150505900" + "00000001" * 2
    first = int.from_bytes(data[16:20], "big")
    assert cramjam.snappy.decompress_raw_len(data[20 : 20 + first]) == 32_768


def test_who_opens_no_batch_loads_no_codec():
    """Snappy's came with the module, into brokers and producers that never see it."""
    script = (
        "import sys, stepdown.storage.directories.log_manager\n"
        "import stepdown.storage.downconversion.converted_stream, stepdown.producer\n"
        "print(*(name for name in ('cramjam', 'isal', 'lz4', 'zstandard') if name in sys.modules))"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout == "\n"


def test_a_bare_raw_snappy_block_is_read():
    assert opened(Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(TEXT))) == TEXT


@pytest.mark.parametrize("size", [100, 32_768, 200_000])
def test_snappy_blocks_of_any_size_are_read(size):
    blocks = [bytes(cramjam.snappy.compress_raw(TEXT[at : at + size])) for at in range(0, len(TEXT), size)]
    data = xerial.HEADER + b"".join(len(block).to_bytes(4, "big") + block for block in blocks)
    assert opened(Codec.SNAPPY, data) == TEXT


def test_a_snappy_block_that_claims_more_than_it_can_hold_is_refused_before_anything_is_allocated():
    claim = b"\xff\xff\xff\xff\x07" + b"\x00" * 50
    with pytest.raises(InvalidRecord, match="cannot open"):
        opened(Codec.SNAPPY, claim, max_bytes=2**31)


@pytest.mark.parametrize("size", [0, -1, 10, 2**31 - 1])
def test_a_snappy_chunk_length_that_is_wrong_is_invalid(size):
    with pytest.raises(InvalidRecord, match="chunk"):
        opened(Codec.SNAPPY, xerial.HEADER + size.to_bytes(4, "big", signed=True) + b"\x01\x00a")


# zstd


def test_zstd_frames_that_follow_one_another_are_read_on():
    frames = zstandard.ZstdCompressor().compress(b"one,") + zstandard.ZstdCompressor().compress(b"two")
    assert opened(Codec.ZSTD, frames) == b"one,two"


def test_zstd_streams_that_broke_or_were_left_do_not_disturb_later_ones():
    good = compress(Codec.ZSTD, NOISE, magic=2)
    for _ in range(3):
        left = decompress_in_chunks(Codec.ZSTD, good, magic=2, max_bytes=MiB)
        next(left)
        left.close()
        with pytest.raises(InvalidRecord, match="broken zstd"):
            opened(Codec.ZSTD, good + b"no frame")
        assert opened(Codec.ZSTD, good) == NOISE


def test_zstd_streams_may_be_read_in_turn():
    wanted = [NOISE[n:] for n in range(4)]
    streams = [
        decompress_in_chunks(Codec.ZSTD, compress(Codec.ZSTD, data, magic=2), magic=2, max_bytes=MiB) for data in wanted
    ]
    found = [b""] * 4
    for pieces in zip_longest(*streams, fillvalue=b""):
        found = [before + piece for before, piece in zip(found, pieces, strict=True)]
    assert found == wanted


def test_what_opens_zstd_is_not_kept_when_a_frame_made_it_large():
    wide = zstandard.ZstdCompressionParameters(window_log=25)
    packer = zstandard.ZstdCompressor(compression_params=wide).compressobj()
    frame = packer.compress(NOISE) + packer.flush()
    for _ in range(3):
        assert opened(Codec.ZSTD, frame) == NOISE
    assert all(kept.memory_size() <= compression.MAX_IDLE_ZSTD_BYTES for kept in compression._idle_zstd)
    assert len(compression._idle_zstd) <= compression.MAX_IDLE_ZSTD
