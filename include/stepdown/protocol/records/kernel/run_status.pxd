# How a run ends, as constants of C; run_status.py says the same for the twin.

cdef enum:
    DONE = 0
    NEEDS_CODEC = 1
    NO_ROOM = 2
    BAD_FRAME = 3
    BAD_CHECKSUM = 4
    BAD_RECORD = 5
    BAD_TIMESTAMP = 6
    BAD_ORDER = 7
    BAD_MAGIC = 8
    BAD_COUNT = 9
    FULL = 10
