"""The log of one partition: its segments, appends, reads, offsets by time, retention, flushing.

Prepared appends and offsets enter; slices of files and offsets leave.
"""
