"""`stepdown groups`: takes names of consumer groups, and prints their state, members and offsets."""
