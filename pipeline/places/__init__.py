"""Where data lies, by URI: a path or an object store comes in; listing, ranged reads and whole-object writes go out.

Nothing above this room asks whether a place is a folder: `Place.files()` answers the same calls for both.
"""
