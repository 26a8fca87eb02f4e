"""The codecs of record batches: gzip, snappy as snappy-java frames it, LZ4 frames, zstd.

Data is compressed and decompressed piece by piece, up to a limit.
"""
