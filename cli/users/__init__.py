"""`stepdown users`: lists users with SCRAM passwords, sets and removes passwords."""
