"""`stepdown faults` and `stepdown clock`: what a broker's control port is asked."""
