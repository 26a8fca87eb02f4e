"""All access to the disk: opening, writing, syncing, renaming, locking and deleting files, and the names of files."""
