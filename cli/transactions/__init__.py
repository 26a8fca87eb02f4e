"""`stepdown transactions`: transactional ids come in, their state, or the outcome of an abort, goes out."""
