"""Log compaction: the range that may be cleaned, the last offset of each key, and the exchange of segments."""
