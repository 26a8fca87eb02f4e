"""`stepdown scenario`: classics of what goes wrong, run and told step by step."""
