"""The codecs of record batches: gzip, snappy as snappy-java frames it, LZ4 frames, zstd.

Bytes enter and leave, compressed or opened, piece by piece and never more than a limit.
"""
