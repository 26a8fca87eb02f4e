"""`stepdown log dump`: reads the files of a partition, and prints rows on batches, index entries and state.

Rows of kind "problem" say what is wrong in a file. No broker is needed; a broker may write the files meanwhile.
"""
