"""`stepdown faults` and `stepdown clock`: requests to a broker's control port."""
