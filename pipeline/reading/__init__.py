"""Segment files to Arrow, without Spark: what to read (splits), where (indexes), and the decoding."""
