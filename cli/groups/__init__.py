"""`stepdown groups`: names of consumer groups come in, their state, members and offsets go out."""
