"""`stepdown users`: users with SCRAM passwords come in, what became of them goes out."""
