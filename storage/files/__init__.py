"""The only door to the disk: opening, writing, syncing, renaming, locking and deleting files, and their names."""
