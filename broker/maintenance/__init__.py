"""Work that no client asks for: retention, cleaning, moves between log directories, loading of internal topics."""
