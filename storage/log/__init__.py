"""The log of one partition: its segments, appends, reads, offset lookups by time, retention and flushes."""
