"""The indexes beside a segment: offsets, timestamps, aborted transactions."""
