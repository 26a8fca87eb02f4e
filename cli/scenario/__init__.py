"""`stepdown scenario`: runs scenarios of faults and prints their events."""
