"""`stepdown log dump`: files of a partition come in, rows about batches, index entries and state go out.

The rows also name what is wrong in a file. No broker is needed, and one may write the files meanwhile.
"""
