"""`stepdown acls`: access rules come in, what became of them goes out."""
