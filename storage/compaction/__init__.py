"""Log compaction: what may be cleaned, the last offset of each key, cleaned segments and how they take their place."""
